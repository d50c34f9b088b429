// Sniffing many files: a block of each is read, whole files only where their name says nothing.
#include "core/dump/file_head.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "core/base/jobs.h"
#include "core/base/unique_fd.h"

namespace hloscope::dump {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr size_t kTailBytes = 256;
constexpr int64_t kFilesATime = 64;

bool IsNamedProto(std::string_view name) {
  return name.ends_with(".pb") || name.ends_with(".pb.gz");
}

// How the last bytes of a text look. A closing brace may have a comment behind it.
TextEnd EndOf(std::string_view tail) {
  size_t last = tail.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos) return TextEnd::kLine;
  size_t line = tail.rfind('\n', last);
  std::string_view final_line = tail.substr(line == std::string_view::npos ? 0 : line + 1);
  if (tail[last] == '}' || final_line.starts_with('}')) return TextEnd::kBrace;
  return tail.ends_with('\n') ? TextEnd::kLine : TextEnd::kAny;
}

// The kind of protos and packed files from their whole contents.
FileKind KindOfWhole(const std::string& path, const Limits& limits, TextEnd& end,
                     std::string& problem) {
  Result<FileView> file = FileView::Open(path, limits);
  if (file) {
    end = EndOf(file->bytes());
    return Sniff(file->bytes());
  }
  problem = file.error().message;
  return FileKind::kUnknown;
}

// The kind by the first bytes; `problem` says why the file cannot be read.
FileKind KindOf(const std::string& path, int64_t bytes, const Limits& limits, TextEnd& end,
                std::string& problem) {
  if (bytes == 0) return FileKind::kEmpty;
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) {
    problem = std::generic_category().message(errno);
    return FileKind::kUnknown;
  }
  std::array<char, kHeadBytes> block;
  ssize_t got = read(fd.get(), block.data(), block.size());
  if (got < 0) {
    problem = std::generic_category().message(errno);
    return FileKind::kUnknown;
  }
  std::string_view head(block.data(), static_cast<size_t>(got));
  if (head.empty()) return FileKind::kEmpty;
  bool packed = head.starts_with("\x1f\x8b");
  if (packed) return KindOfWhole(path, limits, end, problem);
  bool complete = static_cast<int64_t>(got) >= bytes;
  FileKind kind = Sniff(head, complete);
  std::string_view tail = head;
  std::array<char, kTailBytes> end_block;
  if (!complete) {
    got = pread(fd.get(), end_block.data(), end_block.size(),
                bytes - static_cast<int64_t>(end_block.size()));
    tail = {end_block.data(), static_cast<size_t>(std::max<ssize_t>(got, 0))};
  }
  end = EndOf(tail);
  if (tail.empty()) problem = "it shrank while it was read";
  if (kind != FileKind::kUnknown && kind != FileKind::kText) return kind;
  // A proto by name is one unless its reader says otherwise.
  std::string_view name = BareFileName(path);
  if (IsNamedProto(name)) {
    if (name.ends_with(".hlo.pb")) return FileKind::kHloProto;
    if (!complete) return KindOfWhole(path, limits, end, problem);
  }
  return kind;
}

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
      file.kind = KindOf(folder + "/" + listed.path, listed.bytes, limits, ends[at], problems[at]);
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
