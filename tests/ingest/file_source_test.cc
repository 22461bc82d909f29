#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "../support/temp_dir.h"
#include "recording_handler.h"

namespace gapwatch::ingest {
namespace {

using gapwatch::testing::poll_to_end;
using gapwatch::testing::RecordingHandler;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

class Files : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    const auto path = (dir_.path() / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // All values of a file with these bytes.
  std::vector<std::string> lines(const std::string& bytes) {
    RecordingHandler handler;
    const auto source = make_file_source({write("f", bytes)}).value();
    const auto error = poll_to_end(*source, handler);
    EXPECT_FALSE(error) << error->message;
    return handler.values();
  }
  std::string error_of(const std::string& bytes) {
    handler_ = {};
    const auto source = make_file_source({write("broken", bytes)}).value();
    const auto error = poll_to_end(*source, handler_);
    if (!error) return "no error";
    EXPECT_EQ(error->action, Action::kRefuse);
    EXPECT_FALSE(source->poll(milliseconds(0), handler_));  // and it stays
    return error->message;
  }

  gapwatch::testing::TempDir dir_;
  RecordingHandler handler_;
};

TEST_F(Files, LinesAreRecordsAndEmptyOnesOnlyCount) {
  EXPECT_THAT(lines("a\nbb\nccc\n"), ElementsAre("a", "bb", "ccc"));
  EXPECT_THAT(lines("a\nbb"), ElementsAre("a", "bb"));
  EXPECT_THAT(lines("a\r\nbb\r\n"), ElementsAre("a", "bb"));
  EXPECT_THAT(lines(""), ElementsAre());
  EXPECT_THAT(lines("\n"), ElementsAre());
  EXPECT_THAT(lines("a"), ElementsAre("a"));
  EXPECT_THAT(lines(std::string("a\0b\n", 4)), ElementsAre(std::string("a\0b", 3)));

  RecordingHandler handler;
  const auto path = write("gaps", "\na\n\r\n\nb\n");
  const auto source = make_file_source({path}).value();
  ASSERT_FALSE(poll_to_end(*source, handler));
  ASSERT_EQ(handler.seen.size(), 2u);
  EXPECT_EQ(handler.seen[0].offset, 1);
  EXPECT_EQ(handler.seen[1].offset, 4);
  EXPECT_EQ(handler.seen[1].from, (PartitionName{path, 0}));
  EXPECT_EQ(source->progress()[0].next, 5);
  EXPECT_EQ(source->progress()[0].end, 5);
}

TEST_F(Files, PackedFilesReadTheSame) {
  std::mt19937_64 random(7);
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 30'000; ++i) {
    expected.push_back(std::to_string(random()) + std::string(random() % 60, 'x'));
    text += expected.back() + "\n";
  }
  const auto cut = text.size() / 3;
  const auto first = text.substr(0, cut), rest = text.substr(cut);
  EXPECT_EQ(lines(text), expected);
  EXPECT_EQ(lines(gzip(text)), expected);
  EXPECT_EQ(lines(gzip(first) + gzip("") + gzip(rest)), expected);
  EXPECT_EQ(lines(zstd(text)), expected);
  EXPECT_EQ(lines(zstd(first) + zstd(rest)), expected);
  EXPECT_THAT(lines(gzip("")), ElementsAre());
  EXPECT_THAT(lines(zstd("")), ElementsAre());
}

TEST_F(Files, GoesOnAtTheLineTheHandlerSays) {
  const auto plain = write("plain", "l0\nl1\n\nl3\nl4\n"), packed = write("packed", gzip("m0\nm1\nm2"));
  RecordingHandler handler;
  handler.start = {{{plain, 0}, 3}, {{packed, 0}, 2}};
  const auto source = make_file_source({plain, packed}).value();
  ASSERT_FALSE(poll_to_end(*source, handler));
  EXPECT_THAT(handler.values(), ElementsAre("l3", "l4", "m2"));
  EXPECT_EQ(handler.seen[0].offset, 3);
  EXPECT_EQ(handler.held.size(), 2u);
  source->close(handler);
  EXPECT_THAT(handler.revoked, ElementsAre(PartitionName{plain, 0}, PartitionName{packed, 0}));

  RecordingHandler done;
  done.start = {{{plain, 0}, 5}};
  const auto nothing_left = make_file_source({plain}).value();
  ASSERT_FALSE(poll_to_end(*nothing_left, done));
  EXPECT_TRUE(done.seen.empty());
}

TEST_F(Files, LongLinesAreCutAndMarkedAndNothingStops) {
  const std::string text = "short\n" + std::string(5'000'000, 'x') + "\n" + std::string(1000, 'y') + "\nz\n" +
                           std::string(1001, 'w') + "\r\n" + std::string(1000, 'v') + "\r\n" + std::string(3000, 'u');
  for (const auto& bytes : {text, gzip(text)}) {
    RecordingHandler handler;
    const auto source = make_file_source({write("long", bytes)}, 1000).value();
    ASSERT_FALSE(poll_to_end(*source, handler));
    ASSERT_EQ(handler.seen.size(), 7u);
    const bool truncated[] = {false, true, false, false, true, false, true};
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_EQ(handler.seen[i].truncated, truncated[i]) << i;
      EXPECT_EQ(handler.seen[i].offset, static_cast<Offset>(i));
      EXPECT_LE(handler.seen[i].value.size(), 1000u);
    }
    EXPECT_EQ(handler.seen[1].value, std::string(1000, 'x'));
    EXPECT_EQ(handler.seen[3].value, "z");
  }
}

TEST_F(Files, DamageIsAnErrorThatSaysWhere) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "line " + std::to_string(i * 7919 % 100'003) + "\n";
  for (const auto& packed : {gzip(text), zstd(text)}) {
    const auto kind = packed[0] == '\x1f' ? "gzip" : "zstd";
    EXPECT_THAT(error_of(packed.substr(0, packed.size() - 3)),
                AllOf(HasSubstr("broken"), HasSubstr("it ends in the middle of the packed data"), HasSubstr("(line ")));
    EXPECT_GT(handler_.seen.size(), 100u) << kind;  // what came before was handed over
    EXPECT_EQ(handler_.seen.front().value, "line 0");
    auto damaged = packed;
    for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 100; ++i) damaged[i] = static_cast<char>(~damaged[i]);
    EXPECT_THAT(error_of(damaged), AllOf(HasSubstr("near byte "), HasSubstr(std::string("the ") + kind + " data is damaged")));
    EXPECT_THAT(error_of(packed + "trailing text"), HasSubstr("is damaged"));
    EXPECT_THAT(error_of(packed.substr(0, 4)), HasSubstr("it ends in the middle"));
  }
}

TEST_F(Files, WhatCannotBeOpenedIsSaid) {
  RecordingHandler handler;
  const auto missing = make_file_source({dir_.path() / "nothing"}).value();
  EXPECT_THAT(poll_to_end(*missing, handler)->message, HasSubstr("nothing cannot be opened: No such file"));
  const auto folder = make_file_source({dir_.path()}).value();
  EXPECT_THAT(poll_to_end(*folder, handler)->message, HasSubstr("is a folder"));
  EXPECT_FALSE(make_file_source({}));
  EXPECT_THAT(make_file_source({"a", "b", "a"}).error().message, HasSubstr("a is given twice"));

  handler.refusal = refuse("the state is of another run");
  const auto refused = make_file_source({write("f", "a\n")}).value();
  EXPECT_EQ(poll_to_end(*refused, handler)->message, "the state is of another run");
}

// Expected digests from sha256sum: of "a\nb\n", and of "a\nb\nc" (both files in order).
TEST_F(Files, DigestIsOfTheBytesOnDisk) {
  RecordingHandler handler;
  const auto one = write("one", "a\nb\n"), two = write("two", "c");
  const auto source = make_file_source({one}).value();
  ASSERT_FALSE(poll_to_end(*source, handler));
  EXPECT_EQ(source->input_sha256(), "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2");
  const auto both = make_file_source({one, two}).value();
  handler.start = {{{one, 0}, 2}};  // lines passed over count
  ASSERT_FALSE(poll_to_end(*both, handler));
  EXPECT_EQ(both->input_sha256(), "ea7fb08b7a2dc4619ffb7c7bb38d95a2047935fa165d71b12efd3852a2e6d0cc");
}

// Standard input stands for any pipe: what has come is handed over while more may come.
TEST_F(Files, APipeIsReadAsItComes) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int saved = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  ::close(ends[0]);
  const auto put = [&](std::string_view text) { ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size())); };
  RecordingHandler handler;
  const auto source = make_file_source({"-"}).value();
  EXPECT_TRUE(*source->poll(milliseconds(0), handler));  // nothing yet
  put("a");
  EXPECT_TRUE(*source->poll(milliseconds(0), handler));
  put("b\nc");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(*source->poll(milliseconds(0), handler));
  EXPECT_THAT(handler.values(), ElementsAre("ab"));
  source->pause();
  put("d\n");
  EXPECT_TRUE(*source->poll(milliseconds(0), handler));
  EXPECT_THAT(handler.values(), ElementsAre("ab"));
  source->resume();
  put("e");
  ::close(ends[1]);
  ASSERT_FALSE(poll_to_end(*source, handler));
  EXPECT_THAT(handler.values(), ElementsAre("ab", "cd", "e"));
  EXPECT_EQ(handler.seen[0].from.topic, "-");
  dup2(saved, STDIN_FILENO);
  ::close(saved);
}

TEST_F(Files, TheDefaultEvalIsTheFilesNameAlone) {
  const auto source = make_file_source({write("math500.jsonl", "{}\n")}).value();
  EXPECT_EQ(source->default_eval("/runs/july/math500.jsonl.gz"), "math500");
  EXPECT_EQ(source->default_eval("math.500.jsonl.zst"), "math.500");
  EXPECT_EQ(source->default_eval(".gz"), ".gz");
  EXPECT_EQ(source->default_eval("-"), "stdin");
}

}  // namespace
}  // namespace gapwatch::ingest
