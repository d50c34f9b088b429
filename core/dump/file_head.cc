// Sniffing many files: a block of each is read, whole files only where their name says nothing.
#include "core/dump/file_head.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/checked.h"
#include "core/base/jobs.h"
#include "core/base/unique_fd.h"
#include "core/dump/line_reader.h"
#include "core/hlo/wire_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr size_t kTailBytes = 256;
constexpr int64_t kFilesATime = 64;

// How the last bytes of a text look. A closing brace may have a comment behind it.
TextEnd EndOf(std::string_view tail) {
  size_t last = tail.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return TextEnd::kLine;
  size_t line = tail.rfind('\n', last);
  std::string_view final_line = tail.substr(line == std::string_view::npos ? 0 : line + 1);
  bool one_line = final_line.starts_with("ENTRY") && tail[last] == '}';
  if (final_line.starts_with('}') || one_line) return TextEnd::kBrace;
  if (tail.find("</html>") != std::string_view::npos) return TextEnd::kBrace;
  return tail.ends_with('\n') ? TextEnd::kLine : TextEnd::kAny;
}

// Whether each message of a text proto is closed.
bool IsBalanced(std::string_view text) {
  int64_t depth = 0;
  LineReader lines(text);
  std::string_view line;
  while (lines.Next(line)) {
    line = Trim(line);
    if (line.ends_with('{')) ++depth;
    if (line == "}") --depth;
  }
  return depth == 0;
}

bool IsWholeProto(std::string_view bytes) {
  hlo::WireReader reader(bytes);
  hlo::WireField field;
  while (reader.Next(field)) {
  }
  return reader.ok();
}

// Whether the section headers that the header of a 64-bit ELF file names lie inside it.
bool IsWholeElf(std::string_view head, int64_t bytes) {
  constexpr size_t kHeader = 64, kSections = 0x28, kEntrySize = 0x3a, kCount = 0x3c;
  if (head.size() < kHeader) return false;
  if (head[4] != 2 || head[5] != 1) return true;
  uint64_t at = 0;
  uint16_t size = 0, count = 0;
  std::memcpy(&at, head.data() + kSections, sizeof at);
  std::memcpy(&size, head.data() + kEntrySize, sizeof size);
  std::memcpy(&count, head.data() + kCount, sizeof count);
  auto end = CheckedAdd(at, static_cast<uint64_t>(size) * count);
  return end && *end <= static_cast<uint64_t>(bytes);
}

// What one file is by its content, and how it ends.
class Head {
 public:
  Head(const std::string& path, int64_t bytes, const Limits& limits)
      : path_(path), bytes_(bytes), limits_(limits) {}

  FileKind Read() {
    if (bytes_ == 0) return FileKind::kEmpty;
    UniqueFd fd(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd.valid()) return Fail(errno);
    std::array<char, kHeadBytes> block;
    ssize_t got = read(fd.get(), block.data(), block.size());
    if (got < 0) return Fail(errno);
    std::string_view head(block.data(), static_cast<size_t>(got));
    if (head.empty()) return FileKind::kEmpty;
    if (head.starts_with("\x1f\x8b")) return ReadWhole();
    if (got >= bytes_) return Complete(Sniff(head), head);
    FileKind kind = Sniff(head, false);
    if (NeedsWhole(kind)) return ReadWhole();
    std::array<char, kTailBytes> end_block;
    got = pread(fd.get(), end_block.data(), end_block.size(),
                bytes_ - static_cast<int64_t>(end_block.size()));
    end_ = EndOf({end_block.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))});
    if (got <= 0) problem_ = "it shrank while it was read";
    if (kind == FileKind::kObject && !IsWholeElf(head, bytes_)) problem_ = kCut;
    return kind == FileKind::kUnknown && IsModuleProto() ? FileKind::kHloProto : kind;
  }

  TextEnd end() const { return end_; }
  const std::string& problem() const { return problem_; }

 private:
  static constexpr std::string_view kCut = "its end is missing, the file is cut off";

  FileKind Fail(int error) {
    problem_ = std::generic_category().message(error);
    return FileKind::kUnknown;
  }

  // The protos of stages are read whole anyway: their reader says what is wrong.
  bool IsModuleProto() const { return path_.ends_with(".hlo.pb"); }

  // Other protos, packed files and texts made of messages show only as a whole what they are.
  bool NeedsWhole(FileKind kind) const {
    constexpr int64_t kSmall = 4 << 20;
    bool unsure = kind == FileKind::kUnknown || kind == FileKind::kText;
    if (unsure && path_.ends_with(".pb")) return !IsModuleProto();
    return kind == FileKind::kTextProto && bytes_ <= kSmall;
  }

  FileKind ReadWhole() {
    Result<FileView> file = FileView::Open(path_, limits_);
    if (file) return Complete(Sniff(file->bytes()), file->bytes());
    problem_ = file.error().message;
    return FileKind::kUnknown;
  }

  FileKind Complete(FileKind kind, std::string_view bytes) {
    end_ = EndOf(bytes);
    std::string_view name = BareFileName(path_);
    if (kind == FileKind::kTextProto && !IsBalanced(bytes)) end_ = TextEnd::kAny;
    if (kind == FileKind::kObject && !IsWholeElf(bytes, static_cast<int64_t>(bytes.size())))
      problem_ = kCut;
    if (kind == FileKind::kUnknown && name.ends_with(".pb")) {
      if (name.ends_with(".hlo.pb")) return FileKind::kHloProto;
      if (!IsWholeProto(bytes)) problem_ = kCut;
    }
    return kind;
  }

  const std::string& path_;
  int64_t bytes_;
  const Limits& limits_;
  TextEnd end_ = TextEnd::kAny;
  std::string problem_;
};

}  // namespace

Status ReadHeads(const std::string& folder, const Listing& listing, const Limits& limits,
                 const OpenOptions& options, std::vector<FileEntry>& files,
                 std::vector<TextEnd>& ends, std::vector<std::string>& warnings) {
  auto count = static_cast<int64_t>(listing.files.size());
  files.resize(listing.files.size());
  ends.resize(listing.files.size());
  std::vector<std::string> problems(listing.files.size());
  std::atomic<int64_t> done = 0;
  auto read_some = [&](int64_t block) {
    int64_t begin = block * kFilesATime, end = std::min(count, begin + kFilesATime);
    for (int64_t k = begin; k < end; ++k) {
      auto at = static_cast<size_t>(k);
      const ListedFile& listed = listing.files[at];
      FileEntry& file = files[at];
      file.path = listed.path;
      file.bytes = listed.bytes;
      const std::string path = folder + "/" + listed.path;
      Head head(path, listed.bytes, limits);
      file.kind = head.Read();
      ends[at] = head.end();
      problems[at] = head.problem();
    }
    if (options.progress) options.progress(done.fetch_add(end - begin) + end - begin, count);
  };
  int jobs = options.jobs > 0 ? options.jobs : AvailableCpus();
  int64_t blocks = (count + kFilesATime - 1) / kFilesATime;
  HLOSCOPE_TRY(ParallelFor(blocks, jobs, read_some, options.stop));
  for (size_t k = 0; k < problems.size(); ++k) {
    if (!problems[k].empty()) warnings.push_back(files[k].path + ": " + problems[k]);
  }
  return {};
}

}  // namespace hloscope::dump
