// Sniffing many files: a block of each is read, whole files only where their name says nothing.
#include "core/dump/listing/file_head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/base/checked.h"
#include "core/base/file.h"
#include "core/base/jobs.h"
#include "core/base/progress/activity.h"
#include "core/base/unique_fd.h"
#include "core/dump/listing/head_table.h"
#include "core/dump/readers/line_reader.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

// Most files of a dump are smaller: one call reads them.
constexpr size_t kHeadBytes = 16384;
constexpr size_t kSniffBytes = 4096;  // tell the kind of a larger one
constexpr int64_t kCountedAtOnce = 64 << 20;
constexpr size_t kTailBytes = 256;
constexpr int64_t kFilesATime = 64;  // fewer where there would be too few parts for all threads

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

// What one file is by its content, how it ends, and what it holds.
class Head {
 public:
  // `scratch` is used while reading.
  Head(int folder, const std::string& folder_path, const ListedFile& file, bool count,
       const Limits& limits, std::string& scratch)
      : folder_(folder),
        folder_path_(folder_path),
        path_(file.path),
        bytes_(file.bytes),
        count_(count),
        limits_(limits),
        scratch_(scratch) {}

  FileKind Read() {
    if (bytes_ == 0) return FileKind::kEmpty;
    UniqueFd fd(openat(folder_, path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd.valid()) return Fail(errno);
    if (scratch_.size() < kHeadBytes) scratch_.resize(kHeadBytes);
    ssize_t got = read(fd.get(), scratch_.data(), kHeadBytes);
    if (got < 0) return Fail(errno);
    std::string_view head(scratch_.data(), static_cast<size_t>(got));
    if (head.empty()) return FileKind::kEmpty;
    if (head.starts_with("\x1f\x8b")) return ReadWhole();
    if (got >= bytes_) return Complete(Sniff(head), head);
    FileKind kind = Sniff(head.substr(0, kSniffBytes), false);
    if (kind == FileKind::kUnknown && IsModuleProto()) kind = FileKind::kHloProto;
    if (NeedsWhole(kind)) return ReadWhole();
    if (kind == FileKind::kObject && !IsWholeElf(head, bytes_)) problem_ = kCut;
    return count_ && IsModuleKind(kind) && bytes_ <= kCountedAtOnce
               ? ReadRest(fd.get(), head.size(), kind)
               : ReadTail(fd.get(), kind);
  }

  FileKind Read(std::string_view bytes) { return Complete(Sniff(bytes), bytes); }

  TextEnd end() const { return end_; }
  const std::string& problem() const { return problem_; }
  std::optional<StageCounts> TakeCounts() { return std::move(counts_); }

 private:
  static constexpr std::string_view kCut = "the file is truncated";
  static constexpr std::string_view kShrank = "it shrank while it was read";

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
    Result<FileView> file = FileView::Open(folder_path_ + "/" + path_, limits_);
    if (file) return Complete(Sniff(file->bytes()), file->bytes());
    problem_ = file.error().message;
    return FileKind::kUnknown;
  }

  FileKind ReadTail(int fd, FileKind kind) {
    std::array<char, kTailBytes> tail;
    ssize_t got = pread(fd, tail.data(), tail.size(), bytes_ - static_cast<int64_t>(tail.size()));
    end_ = EndOf({tail.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))});
    if (got <= 0) problem_ = kShrank;
    return kind;
  }

  FileKind ReadRest(int fd, size_t filled, FileKind kind) {
    auto size = static_cast<size_t>(bytes_);
    if (scratch_.size() < size) scratch_.resize(size);
    while (filled < size) {
      ssize_t got = read(fd, scratch_.data() + filled, size - filled);
      if (got < 0) return Fail(errno);
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    if (filled < size) problem_ = kShrank;
    std::string_view bytes(scratch_.data(), filled);
    end_ = EndOf(bytes);
    Count(kind, bytes);
    return kind;
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
    if (count_) Count(kind, bytes);
    return kind;
  }

  void Count(FileKind kind, std::string_view bytes) {
    if (kind == FileKind::kHloProto) counts_ = CountInProto(bytes);
    if (kind == FileKind::kHloText) counts_ = CountInText(bytes);
  }

  int folder_;
  const std::string& folder_path_;
  const std::string& path_;
  int64_t bytes_;
  bool count_;
  const Limits& limits_;
  std::string& scratch_;
  TextEnd end_ = TextEnd::kAny;
  std::string problem_;
  std::optional<StageCounts> counts_;
};

// Whether the file before a text is the proto of the same stage, which is read instead.
bool HasProto(const std::vector<ListedFile>& files, size_t at) {
  constexpr std::string_view kText = ".txt", kProto = ".hlo.pb";
  std::string_view text = files[at].path;
  if (at == 0 || !text.ends_with(kText)) return false;
  text.remove_suffix(kText.size());
  std::string_view before = files[at - 1].path;
  return before.starts_with(text) && before.substr(text.size()).starts_with(kProto);
}

FileHead ReadHead(int folder, const std::string& folder_path, const ListedFile& file, bool count,
                  const Limits& limits, std::string& scratch) {
  Head head(folder, folder_path, file, count, limits, scratch);
  FileHead read;
  read.kind = head.Read();
  read.end = head.end();
  read.counted = count;
  read.counts = head.TakeCounts();
  read.problem = head.problem();
  return read;
}

// What reading gave of each file, as the model and the cache want it.
void GiveHeads(std::vector<FileHead> read, Listing& listing, FileHeads& heads) {
  const int64_t now = NowNs();
  if (listing.wants_heads) listing.heads = std::make_shared<HeadTable>();
  for (size_t k = 0; k < read.size(); ++k) {
    heads.ends[k] = read[k].end;
    if (!heads.counts.empty()) heads.counts[k] = read[k].counts;
    if (listing.wants_heads && IsSettled(listing.files[k], now))
      listing.heads->Add(listing.keys[k], std::move(read[k]));
  }
}

}  // namespace

Result<FileHeads> ReadHeads(const std::string& folder, Listing& listing, const Limits& limits,
                            const OpenOptions& options, std::vector<FileEntry>& files,
                            std::vector<std::string>& warnings) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return EnvironmentError(folder + ": " + std::generic_category().message(errno));
  const size_t count = listing.files.size();
  std::vector<FileHead> read(count);
  files.resize(count);
  listing.keys.resize(count);
  std::atomic<int64_t> done = 0;
  Activity activity("reading", folder, static_cast<int64_t>(count));
  int jobs = options.jobs > 0 ? options.jobs : AvailableCpus();
  const int64_t a_time =
      std::clamp<int64_t>(static_cast<int64_t>(count) / (4 * int64_t{jobs}), 1, kFilesATime);
  auto read_some = [&](int64_t block) {
    auto begin = static_cast<size_t>(block * a_time);
    size_t end = std::min(count, begin + static_cast<size_t>(a_time));
    std::string scratch;
    for (size_t at = begin; at < end; ++at) {
      const ListedFile& listed = listing.files[at];
      listing.keys[at] = KeyOf(listed);
      bool counted = options.count_stages && !HasProto(listing.files, at);
      const FileHead* known =
          listing.known_heads ? listing.known_heads->Find(listing.keys[at]) : nullptr;
      read[at] = known != nullptr && known->counted == counted
                     ? *known
                     : ReadHead(fd.get(), folder, listed, counted, limits, scratch);
      files[at].bytes = listed.bytes;
      files[at].modified_ns = listed.modified_ns;
      files[at].kind = read[at].kind;
    }
    auto now_done = static_cast<int64_t>(end - begin);
    const int64_t all_done = done.fetch_add(now_done) + now_done;
    activity.Done(all_done);
    if (options.progress) options.progress(all_done, static_cast<int64_t>(count));
  };
  int64_t blocks = (static_cast<int64_t>(count) + a_time - 1) / a_time;
  HLOSCOPE_TRY(ParallelFor(blocks, jobs, read_some, options.stop));
  for (size_t k = 0; k < count; ++k) {
    if (!read[k].problem.empty())
      warnings.push_back(listing.files[k].path + ": " + read[k].problem);
  }
  FileHeads heads{std::vector<TextEnd>(count), {}};
  heads.counts.resize(options.count_stages ? count : 0);
  GiveHeads(std::move(read), listing, heads);
  for (size_t k = 0; k < count; ++k) files[k].path = std::move(listing.files[k].path);
  return heads;
}

Result<FileHeads> ReadHeads(const Archive& archive, const std::string& path,
                            const OpenOptions& options, std::vector<FileEntry>& files,
                            std::vector<std::string>& warnings) {
  const size_t count = archive.members().size();
  FileHeads heads{std::vector<TextEnd>(count), {}};
  heads.counts.resize(options.count_stages ? count : 0);
  files.resize(count);
  std::string scratch;
  for (size_t k = 0; k < count; ++k) {
    const Archive::Member& member = archive.members()[k];
    if (options.stop.stop_requested())
      return std::unexpected(Error{ErrorClass::kCancelled, "stopped", {}, {}});
    files[k].path = member.name;
    files[k].modified_ns = member.modified_ns;
    const auto view = archive.Read(member, path + "/" + member.name);
    if (!view) {
      warnings.push_back(fmt::format("{}: {}", member.name, view.error().message));
      continue;
    }
    const ListedFile listed{member.name, static_cast<int64_t>(view->bytes().size()), 0, 0, 0};
    Head head(-1, path, listed, options.count_stages, archive.limits(), scratch);
    files[k].bytes = listed.bytes;
    files[k].kind = head.Read(view->bytes());
    heads.ends[k] = head.end();
    if (options.count_stages) heads.counts[k] = head.TakeCounts();
    if (!head.problem().empty()) warnings.push_back(member.name + ": " + head.problem());
  }
  return heads;
}

}  // namespace hloscope::dump
