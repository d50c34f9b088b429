// Sniffing many files: a block of each is read, whole files only where their name says nothing.
#include "core/dump/file_head.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "core/base/jobs.h"
#include "core/base/unique_fd.h"

namespace hloscope::dump {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr int64_t kFilesATime = 64;

bool IsNamedProto(std::string_view name) {
  return name.ends_with(".pb") || name.ends_with(".pb.gz");
}

// The kind of protos and packed files from their whole contents.
FileKind KindOfWhole(const std::string& path, const Limits& limits, std::string& problem) {
  Result<FileView> file = FileView::Open(path, limits);
  if (file) return Sniff(file->bytes());
  problem = file.error().message;
  return FileKind::kUnknown;
}

// nullopt and a reason where the file cannot be read.
FileKind KindOf(const std::string& path, int64_t bytes, const Limits& limits,
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
  if (packed) return KindOfWhole(path, limits, problem);
  bool complete = static_cast<int64_t>(got) >= bytes;
  FileKind kind = Sniff(head, complete);
  if (kind != FileKind::kUnknown && kind != FileKind::kText) return kind;
  // A proto by name is one unless its reader says otherwise.
  std::string_view name = BareFileName(path);
  if (IsNamedProto(name)) {
    if (name.ends_with(".hlo.pb")) return FileKind::kHloProto;
    if (!complete) return KindOfWhole(path, limits, problem);
  }
  return kind;
}

}  // namespace

Status ReadHeads(const std::string& folder, const Listing& listing, const Limits& limits,
                 const OpenOptions& options, std::vector<FileEntry>& files,
                 std::vector<std::string>& warnings) {
  auto count = static_cast<int64_t>(listing.files.size());
  files.resize(listing.files.size());
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
      file.kind = KindOf(folder + "/" + listed.path, listed.bytes, limits, problems[at]);
    }
    if (options.progress) options.progress(done.fetch_add(end - begin) + end - begin, count);
  };
  int jobs = options.jobs > 0 ? options.jobs : AvailableCpus();
  int64_t blocks = (count + kFilesATime - 1) / kFilesATime;
  HLOSCOPE_TRY(ParallelFor(blocks, jobs, read_some, options.stop));
  for (size_t k = 0; k < problems.size(); ++k) {
    if (!problems[k].empty()) warnings.push_back(files[k].path + ": not read, " + problems[k]);
  }
  return {};
}

}  // namespace hloscope::dump
