// Reading refuses what is no file and what changes; writing leaves the old file or the new one, and
// nothing else.
#include "core/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/base/files/file_parts.h"
#include "core/base/gzip.h"
#include "tests/base/faulty_file_calls.h"
#include "tests/base/scratch.h"

namespace hloscope {
namespace {

// `bytes` as zlib writes them; `bits` as of deflateInit2.
std::string Deflated(std::string_view bytes, int level, int bits) {
  z_stream stream = {};
  deflateInit2(&stream, level, Z_DEFLATED, bits, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// `bytes` as one gzip member.
std::string Gzip(std::string_view bytes) { return Deflated(bytes, 9, 16 + MAX_WBITS); }

std::string ErrorOf(const std::string& path, const Limits& limits = {}) {
  const auto view = FileView::Open(path, limits);
  return view.has_value() ? "no error" : view.error().ToString();
}

TEST(FileViewTest, ReadsEverySizeAroundAGrowthStep) {
  const Scratch scratch;
  for (size_t size : {0, 1, 65535, 65536, 65537, 131072, 300000}) {
    std::string bytes(size, 'x');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7);
    const auto view = FileView::Open(scratch.Write("f", bytes), {});
    ASSERT_TRUE(view.has_value()) << view.error().ToString();
    EXPECT_EQ(view->bytes(), bytes);
    EXPECT_EQ(view->bytes().data()[size], '\0');
    EXPECT_FALSE(view->was_packed());
  }
}

TEST(FileViewTest, ShortReadsAndInterruptionsAreNotErrors) {
  const Scratch scratch;
  const std::string path = scratch.Write("f", "0123456789");
  FaultyFileCalls calls;
  calls.step = 3;
  calls.call = "read";
  calls.n = 1;
  calls.error = EINTR;
  const auto view = FileView::Open(path, {}, calls);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->bytes(), "0123456789");
}

TEST(FileViewTest, RefusesNonFilesByName) {
  const Scratch scratch;
  ASSERT_EQ(mkfifo(scratch.Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(scratch.Path("pipe")), scratch.Path("pipe") + ": is a named pipe, not a file");
  EXPECT_EQ(ErrorOf(scratch.Path("")), scratch.Path("") + ": is a folder, not a file");
  EXPECT_EQ(ErrorOf("/dev/null"), "/dev/null: is a device, not a file");
  EXPECT_EQ(ErrorOf(scratch.Path("none")), scratch.Path("none") + ": no such file");
}

TEST(FileViewTest, HoldsTheSizeLimit) {
  const Scratch scratch;
  Limits limits;
  limits.input_file_bytes = 100;
  for (int size : {99, 100}) {
    EXPECT_EQ(ErrorOf(scratch.Write("f", std::string(static_cast<size_t>(size), 'x')), limits),
              "no error");
  }
  const std::string path = scratch.Write("f", std::string(101, 'x'));
  EXPECT_EQ(ErrorOf(path, limits),
            path +
                ": is larger than the limit input-file, 100 bytes (raise it with --limit "
                "input-file=BYTES)");
  limits.input_file_bytes = 4;  // a file of the kernel's that claims to be empty
  EXPECT_NE(ErrorOf("/proc/self/status", limits).find("limit input-file"), std::string::npos);
}

TEST(FileViewTest, FileThatGrowsOnceIsReadAgain) {
  const Scratch scratch;
  const std::string path = scratch.Write("f", "old");
  FaultyFileCalls calls;
  bool grown = false;
  calls.before_read = [&] {
    if (!std::exchange(grown, true)) scratch.Write("f", "newer");
  };
  const auto view = FileView::Open(path, {}, calls);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->bytes(), "newer");
  EXPECT_EQ(calls.count["open"], 2);
}

TEST(FileViewTest, FileThatKeepsChangingIsAnError) {
  const Scratch scratch;
  std::string content = "x";
  const std::string path = scratch.Write("f", content);
  FaultyFileCalls calls;
  calls.before_read = [&] { scratch.Write("f", content += "x"); };
  const auto view = FileView::Open(path, {}, calls);
  ASSERT_FALSE(view.has_value());
  EXPECT_EQ(view.error().error_class, ErrorClass::kEnvironment);
  EXPECT_NE(view.error().message.find("changed while it was read"), std::string::npos);
}

TEST(FileViewTest, EveryFailingCallIsAnEnvironmentError) {
  const Scratch scratch;
  const std::string path = scratch.Write("f", "x");
  for (const auto& [call, n] :
       {std::pair{"open", 0}, {"stat", 0}, {"read", 0}, {"read", 1}, {"stat", 1}}) {
    FaultyFileCalls calls;
    calls.call = call;
    calls.n = n;
    const auto view = FileView::Open(path, {}, calls);
    ASSERT_FALSE(view.has_value()) << call << n;
    EXPECT_EQ(view.error().error_class, ErrorClass::kEnvironment) << call << n;
    EXPECT_NE(view.error().ToString().find(path), std::string::npos) << view.error().ToString();
  }
}

TEST(FilePartsTest, ReadsPartsOfWhatIsOnDiskAndInMemory) {
  const Scratch scratch;
  const std::string bytes = "0123456789";
  const auto on_disk = FileParts::Open(scratch.Write("f", bytes), {});
  const auto packed = FileParts::Open(scratch.Write("g", Gzip(bytes)), {});
  ASSERT_TRUE(on_disk.has_value() && packed.has_value());
  for (const FileParts& file : {*on_disk, *packed, FileParts(FileView::FromBytes("h", bytes))}) {
    EXPECT_EQ(file.size(), 10u);
    EXPECT_EQ(*file.Read(0, 10), bytes);
    EXPECT_EQ(*file.Read(2, 7), "2345678");
    EXPECT_EQ(*file.Read(10, 0), "");
  }
  EXPECT_EQ(FileParts::Open(scratch.Write("e", ""), {})->size(), 0u);
  EXPECT_GT(FileParts::Open("/proc/self/status", {})->size(), 0u);  // claims to be empty
}

TEST(FilePartsTest, ErrorsAreThoseOfWholeFiles) {
  const Scratch scratch;
  Limits limits;
  limits.input_file_bytes = 4;
  for (const std::string& path : {scratch.Path("none"), scratch.Path(""),
                                  scratch.Write("f", "01234"), std::string("/dev/null")}) {
    const auto parts = FileParts::Open(path, limits);
    ASSERT_FALSE(parts.has_value());
    EXPECT_EQ(parts.error().ToString(), ErrorOf(path, limits));
  }
  // What changes after it was opened is noticed at the next part.
  const auto parts = FileParts::Open(scratch.Write("f", "0123"), limits);
  ASSERT_TRUE(parts.has_value());
  for (const std::string_view changed : {"01", "01234"}) {
    scratch.Write("f", changed);
    const auto read = parts->Read(0, 4);
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().message.find("changed while it was read"), std::string::npos);
  }
}

TEST(FileViewTest, UnpacksGzipByContent) {
  const Scratch scratch;
  const std::string text(100000, 'h');
  const std::string packed = Gzip(text);
  struct Case {
    std::string bytes, expected;
  };
  const Case good[] = {{packed, text},
                       {Gzip(""), ""},
                       {packed + Gzip("tail"), text + "tail"},
                       {packed + std::string(512, '\0'), text},
                       {Gzip(packed), packed}};
  for (const Case& c : good) {
    const auto view = FileView::Open(scratch.Write("any.name", c.bytes), {});
    ASSERT_TRUE(view.has_value()) << view.error().ToString();
    EXPECT_TRUE(view->was_packed());
    EXPECT_TRUE(view->bytes() == c.expected);
  }
  std::string broken = Gzip("0123456789abcdef");
  broken[broken.size() - 6] ^= 1;  // the checksum
  const Case bad[] = {{packed.substr(0, 2), "truncated"},
                      {packed.substr(0, packed.size() - 1), "truncated"},
                      {packed.substr(0, packed.size() / 2), "truncated"},
                      {packed + "x", "1 byte of other data after the end"},
                      {broken, "corrupt: incorrect data check"},
                      {"\x1f\x8b\x07" + packed.substr(3), "corrupt: unknown compression method"}};
  for (const Case& c : bad) {
    const std::string error = ErrorOf(scratch.Write("any.name", c.bytes));
    EXPECT_NE(error.find(c.expected), std::string::npos) << error;
  }
}

// Windows of every size and every level, as zlib itself writes them.
TEST(GzipTest, TellsDataOfZlibByTheirHeader) {
  for (int bits = 9; bits <= MAX_WBITS; ++bits) {
    for (int level = 0; level <= 9; ++level) {
      const std::string packed = Deflated("some text", level, bits);
      EXPECT_TRUE(IsZlib(packed)) << bits << " " << level;
      EXPECT_FALSE(IsGzip(packed));
      const auto plain = Unzlib(packed, Limits());
      ASSERT_TRUE(plain.has_value());
      EXPECT_EQ(plain->bytes(), "some text");
    }
  }
  EXPECT_FALSE(IsZlib(Deflated("some text", 9, 16 + MAX_WBITS)));  // gzip
  for (const std::string_view other : {"", "x", "xx", "text", "\x78\x9d", "\x88\x1c"}) {
    EXPECT_FALSE(IsZlib(other)) << other;
  }
}

// A name, a comment and an extra field before the data of a member, and what is read of them.
TEST(FileViewTest, HeadersOfGzipHaveAnEnd) {
  const Scratch scratch;
  const std::string packed = Gzip("HloModule m"), head = packed.substr(0, 3),
                    rest = packed.substr(4);
  const auto with = [&](char flags, const std::string& fields) {
    return head + flags + rest.substr(0, 6) + fields + rest.substr(6);
  };
  const std::string end(1, '\0'), few(1000, 'x'), most(1 << 16, 'x'), many(70'000, 'x');
  const std::string extra = std::string("\xff\xff", 2) + std::string(65535, 'x');
  for (const std::string& sound : {with(8, few + end), with(16, most + end), with(4, extra),
                                   with(28, extra + few + end + most + end)}) {
    const auto view = FileView::Open(scratch.Write("f", sound), {});
    ASSERT_TRUE(view.has_value()) << view.error().ToString();
    EXPECT_EQ(view->bytes(), "HloModule m");
  }
  const std::string endless(size_t{4} << 20, 'x');
  for (const std::string& bad :
       {with(8, many + end), with(8, endless), packed + with(8, many + end)}) {
    EXPECT_NE(ErrorOf(scratch.Write("f", bad)).find("header has a name of more"),
              std::string::npos);
  }
  for (const std::string& bad :
       {with(16, many + end), with(24, end + endless), with(20, extra + endless)}) {
    EXPECT_NE(ErrorOf(scratch.Write("f", bad)).find("header has a comment of more"),
              std::string::npos);
  }
  // What follows is not read.
  Limits limits;
  limits.input_file_bytes = size_t{64} << 20;
  FaultyFileCalls calls;
  calls.call = "read";
  calls.n = 16;
  calls.error = EIO;
  calls.step = size_t{64} << 10;
  const auto view = FileView::Open(scratch.Write("f", with(8, endless)), limits, calls);
  ASSERT_FALSE(view.has_value());
  EXPECT_NE(view.error().ToString().find("header has a name"), std::string::npos)
      << view.error().ToString();
}

TEST(FileViewTest, EveryPrefixOfGzipIsAnErrorAndNothingWorse) {
  const Scratch scratch;
  const std::string packed = Gzip("HloModule m");
  for (size_t size = 2; size < packed.size(); ++size) {
    EXPECT_NE(ErrorOf(scratch.Write("f", packed.substr(0, size))).find("truncated"),
              std::string::npos)
        << size;
  }
}

TEST(FileViewTest, BombsStopAtTheirLimit) {
  const Scratch scratch;
  const std::string path = scratch.Write("f", Gzip(std::string(1000000, '\0')));
  const auto packed = static_cast<int64_t>(std::filesystem::file_size(path));
  Limits limits;
  limits.compression_ratio = 1000000 / packed + 1;
  EXPECT_EQ(ErrorOf(path, limits), "no error");
  limits.compression_ratio = 1000000 / packed - 1;
  EXPECT_NE(ErrorOf(path, limits).find("the limit compression-ratio"), std::string::npos);
  for (const auto& [limit, fits] : {std::pair{999999, false}, {1000000, true}, {1000001, true}}) {
    Limits by_size;
    by_size.archive_member_bytes = limit;
    EXPECT_EQ(ErrorOf(path, by_size) == "no error", fits) << limit;
  }
}

TEST(WriteFileTest, ReplacesAndKeepsPermissionsAndLinks) {
  const Scratch scratch;
  const std::string path = scratch.Write("f", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(symlink("f", scratch.Path("link").c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(scratch.Path("link"), "new").has_value());
  EXPECT_EQ(scratch.Read("f"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch.Path("link")));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  EXPECT_EQ(scratch.Names(), (std::vector<std::string>{"f", "link"}));
}

TEST(WriteFileTest, TheUmaskIsForNewFilesAlone) {
  const Scratch scratch;
  const std::string path = scratch.Write("f", "old");
  ASSERT_EQ(chmod(path.c_str(), 0664), 0);
  const mode_t before = umask(077);
  EXPECT_TRUE(WriteFileAtomically(path, "new").has_value());
  EXPECT_TRUE(WriteFileAtomically(scratch.Path("g"), "new").has_value());
  umask(before);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0664));
  EXPECT_EQ(std::filesystem::status(scratch.Path("g")).permissions(), std::filesystem::perms(0600));
}

TEST(WriteFileTest, EveryFailingCallLeavesTheOldFileAndNothingElse) {
  const std::string bytes(1000, 'n');
  for (const std::string call : {"open", "write", "sync", "close", "rename"}) {
    for (int n = 0; n < (call == "write" ? 10 : 1); ++n) {
      for (int error : {EIO, ENOSPC, EDQUOT}) {
        const Scratch scratch;
        const std::string path = scratch.Write("f", "old");
        FaultyFileCalls calls;
        calls.call = call;
        calls.n = n;
        calls.error = error;
        calls.step = 100;
        const Status status = WriteFileAtomically(path, bytes, calls);
        ASSERT_FALSE(status.has_value()) << call << n;
        EXPECT_EQ(status.error().error_class, ErrorClass::kEnvironment);
        EXPECT_EQ(status.error().place.file, path);
        EXPECT_EQ(scratch.Read("f"), "old") << call << n;
        EXPECT_EQ(scratch.Names(), std::vector<std::string>{"f"}) << call << n;
      }
    }
  }
}

TEST(WriteFileTest, SlowWritesArriveWhole) {
  const Scratch scratch;
  FaultyFileCalls calls;
  calls.call = "write";
  calls.n = 2;
  calls.error = EINTR;
  calls.step = 7;
  const std::string bytes = "0123456789abcdefghijklmnopqrstuvwxyz";
  ASSERT_TRUE(WriteFileAtomically(scratch.Path("f"), bytes, calls).has_value());
  EXPECT_EQ(scratch.Read("f"), bytes);
}

TEST(WriteFileTest, FoldersAreRefusedAndDevicesStay) {
  const Scratch scratch;
  const Status folder = WriteFileAtomically(scratch.Path(""), "x");
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().ToString(), scratch.Path("") + ": is a folder, not a file");
  EXPECT_TRUE(WriteFileAtomically("/dev/null", "x").has_value());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const Status nowhere = WriteFileAtomically(scratch.Path("no/such/f"), "x");
  ASSERT_FALSE(nowhere.has_value());
  EXPECT_EQ(nowhere.error().message,
            "cannot write: folder " + scratch.Path("no/such") + " does not exist");
}

TEST(WriteFileTest, PlantedLinkUnderTheTemporaryNameIsNotFollowed) {
  const Scratch scratch;
  const std::string victim = scratch.Write("victim", "safe");
  const std::string planted = ".hloscope-" + std::to_string(getpid()) + "-0.tmp";
  ASSERT_EQ(symlink(victim.c_str(), scratch.Path(planted).c_str()), 0);
  ASSERT_TRUE(WriteFileAtomically(scratch.Path("f"), "new").has_value());
  EXPECT_EQ(scratch.Read("victim"), "safe");
  EXPECT_EQ(scratch.Read("f"), "new");
}

}  // namespace
}  // namespace hloscope
