// Programs under test as child processes: started, read, signalled, waited for.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

extern char** environ;

namespace gapwatch::testing {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
}

// Standard output and error go to files; killed when it goes out of scope.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const std::filesystem::path& out,
          const std::filesystem::path& err)
      : out_(out), err_(err) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    std::vector<char*> argv;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const int failed = posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("cannot start " + arguments[0]);
  }
  ~Process() { kill(SIGKILL); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool running() {
    if (status_ < 0 && waitpid(pid_, &raw_, WNOHANG) == pid_) status_ = decode();
    return status_ < 0;
  }
  // Exit status, or 128 + the signal that ended it.
  int wait() {
    if (status_ < 0) {
      waitpid(pid_, &raw_, 0);
      status_ = decode();
    }
    return status_;
  }
  void signal(int number) {
    if (running()) ::kill(pid_, number);
  }
  int kill(int number) {
    signal(number);
    return wait();
  }
  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }

 private:
  int decode() const { return WIFEXITED(raw_) ? WEXITSTATUS(raw_) : 128 + WTERMSIG(raw_); }

  std::filesystem::path out_, err_;
  pid_t pid_ = -1;
  int raw_ = 0, status_ = -1;
};

struct Ran {
  int status = 0;
  std::string out, err;
};

// Runs to the end.
inline Ran run_to_end(const std::vector<std::string>& arguments, const std::filesystem::path& scratch) {
  Process process(arguments, scratch / "out.txt", scratch / "err.txt");
  const int status = process.wait();
  return {status, process.out(), process.err()};
}

}  // namespace gapwatch::testing
