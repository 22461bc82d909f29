#include "base/executor.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <stdexcept>
#include <vector>

namespace gapwatch {
namespace {

std::vector<int> squares(Executor& executor) {
  std::vector<int> out(1000);
  executor.run(out.size(), [&](std::size_t i) { out[i] = static_cast<int>(i * i); });
  return out;
}

TEST(ThreadExecutor, DoesEveryJobOnce) {
  InlineExecutor one;
  const auto four = make_thread_executor(4);
  EXPECT_EQ(four->threads(), 4u);
  for (int round = 0; round < 50; ++round) EXPECT_EQ(squares(*four), squares(one));
}

TEST(ThreadExecutor, HandsOnWhatAJobThrowsAndWorksOn) {
  for (const std::size_t threads : {1, 4}) {
    const auto executor = make_thread_executor(threads);
    for (int round = 0; round < 50; ++round) {
      EXPECT_THROW(executor->run(100, [](std::size_t i) { if (i % 30 == 7) throw std::runtime_error("no memory"); }),
                   std::runtime_error);
      InlineExecutor one;
      EXPECT_EQ(squares(*executor), squares(one));
    }
  }
}

// A system that gives no more threads is no fault: the work is done by those there are.
TEST(ThreadExecutor, WorksOnWithTheThreadsItCouldHave) {
  pthread_attr_t usual, impossible;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&impossible), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&impossible, std::size_t{1} << 47), 0);  // more than there are addresses
  ASSERT_EQ(pthread_setattr_default_np(&impossible), 0);
  const auto executor = make_thread_executor(4);
  EXPECT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_EQ(executor->threads(), 1u);
  InlineExecutor one;
  EXPECT_EQ(squares(*executor), squares(one));
  pthread_attr_destroy(&impossible);
  pthread_attr_destroy(&usual);
}

}  // namespace
}  // namespace gapwatch
