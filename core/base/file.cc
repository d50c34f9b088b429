// Reading with the file's size and time checked before and after; writing beside the target and
// renaming.
#include "core/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/counted.h"
#include "core/base/file_writer.h"
#include "core/base/gzip.h"
#include "core/base/progress/activity.h"

namespace hloscope {
namespace {

constexpr int kReadAttempts = 3;
constexpr int kNameAttempts = 10'000;
constexpr size_t kLargestStep = size_t{1} << 30;
// Of a file, when a header of gzip that has not ended yet is one that has no end.
constexpr size_t kGzipHeader = size_t{256} << 10;
constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
constexpr mode_t kPermissionBits = 07777;

// A file descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(int fd, const FileCalls& calls) : fd_(fd), calls_(calls) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  // 0, or -1 where the system reports a late write error.
  int Close() { return fd_ < 0 ? 0 : calls_.Close(std::exchange(fd_, -1)); }

 private:
  int fd_;
  const FileCalls& calls_;
};

std::unexpected<Error> AtPath(const std::string& path, std::unexpected<Error> failure) {
  failure.error().place.file = path;
  return failure;
}

std::unexpected<Error> SystemError(const std::string& path, std::string_view action) {
  const int code = errno;
  const std::string reason = std::generic_category().message(code);
  return AtPath(path, EnvironmentError(fmt::format("cannot {}: {}", action, reason)));
}

std::unexpected<Error> OpenError(const std::string& path) {
  if (errno == ENOENT || errno == ENOTDIR) return AtPath(path, InputError("no such file"));
  if (errno == ENXIO) return AtPath(path, InputError("is a socket or a device, not a file"));
  return SystemError(path, "open");
}

std::unexpected<Error> CreateError(const std::string& path, const std::string& target) {
  std::string folder = std::filesystem::path(target).parent_path().string();
  if (folder.empty()) folder = ".";
  const int code = errno;
  std::error_code error;
  // In some that exist, such as /proc, no file can be created either.
  if (code == ENOENT && !std::filesystem::exists(folder, error)) {
    return AtPath(path, InputError(fmt::format("cannot write: folder {} does not exist", folder)));
  }
  errno = code;
  if (errno == ENOTDIR) {
    return AtPath(path, InputError(fmt::format("cannot write: {} is not a folder", folder)));
  }
  return SystemError(path, fmt::format("create a file in folder {}", folder));
}

// What `mode` is, for a message; nothing for an ordinary file.
std::string_view KindOf(mode_t mode) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// What must not change while a file is read.
struct Stamp {
  off_t size = 0;
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

Stamp StampOf(const struct stat& status) {
  return {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

std::unexpected<Error> OverLimit(int64_t limit) {
  return InputError("is larger than the limit input-file, " + Counted(limit, "byte"),
                    "raise it with --limit input-file=BYTES");
}

// Reads from `fd` to its end, or past `expected` bytes: a file that grows as fast as it is read has
// no end.
Result<ByteBuffer> ReadAll(int fd, const std::string& path, int64_t expected, const Limits& limits,
                           const FileCalls& calls) {
  ByteBuffer buffer;
  Activity activity("reading", path, expected == kNoEnd ? 0 : expected);
  while (std::cmp_less_equal(buffer.size(), expected)) {
    activity.Done(std::ssize(buffer.bytes()));
    size_t room = 0;
    char* target = buffer.Room(&room);
    if (target == nullptr) return EnvironmentError("out of memory while reading");
    const ssize_t count = calls.Read(fd, target, std::min(room, kLargestStep));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return EnvironmentError("cannot read: " + std::generic_category().message(errno));
    }
    if (count == 0) break;
    const bool had_header = buffer.size() >= kGzipHeader;
    buffer.Commit(static_cast<size_t>(count));
    if (!had_header && buffer.size() >= kGzipHeader && IsGzip(buffer.bytes())) {
      HLOSCOPE_TRY(CheckGzipHeader(buffer.bytes()));
    }
    if (std::cmp_greater(buffer.size(), limits.input_file_bytes))
      return OverLimit(limits.input_file_bytes);
  }
  if (!buffer.Finish()) return EnvironmentError("out of memory while reading");
  return buffer;
}

// The bytes of a regular file, or nullopt where it changed meanwhile.
Result<std::optional<ByteBuffer>> ReadOnce(const std::string& path, const Limits& limits,
                                           const FileCalls& calls) {
  // Non-blocking so that a pipe without a writer is named below instead of waited for.
  const Descriptor file(calls.Open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0),
                        calls);
  if (file.get() < 0) return OpenError(path);
  struct stat before = {};
  if (calls.Stat(file.get(), &before) != 0) return SystemError(path, "examine");
  if (const std::string_view kind = KindOf(before.st_mode); !kind.empty()) {
    return InputError(fmt::format("is {}, not a file", kind));
  }
  if (before.st_size > limits.input_file_bytes) return OverLimit(limits.input_file_bytes);
  // Files that the kernel generates (in /proc) claim to be empty.
  const bool generated = before.st_size == 0;
  const int64_t expected = generated ? kNoEnd : before.st_size;
  HLOSCOPE_ASSIGN_OR_RETURN(ByteBuffer buffer, ReadAll(file.get(), path, expected, limits, calls));
  struct stat after = {};
  if (calls.Stat(file.get(), &after) != 0) return SystemError(path, "examine");
  const bool whole = generated || std::cmp_equal(buffer.size(), before.st_size);
  if (!whole || StampOf(before) != StampOf(after)) return std::nullopt;
  return std::optional(std::move(buffer));
}

Result<ByteBuffer> ReadStable(const std::string& path, const Limits& limits,
                              const FileCalls& calls) {
  for (int attempt = 0; attempt < kReadAttempts; ++attempt) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::optional<ByteBuffer> buffer, ReadOnce(path, limits, calls));
    if (buffer.has_value()) return *std::move(buffer);
  }
  return EnvironmentError("changed while it was read",
                          "try again when it is no longer being written");
}

Status WriteAll(int fd, std::string_view bytes, const FileCalls& calls) {
  while (!bytes.empty()) {
    const ssize_t count = calls.Write(fd, bytes.data(), std::min(bytes.size(), kLargestStep));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return EnvironmentError("cannot write: " + std::generic_category().message(errno));
    if (count == 0) return EnvironmentError("cannot write: no progress");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

// The file that `path` means once links are followed, and its mode where it exists.
struct Target {
  std::string path;
  std::optional<mode_t> mode;
};

Target TargetOf(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return {path, std::nullopt};
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return {error ? path : real.string(), status.st_mode};
}

// Creates a file beside `path`; `name` is set to its path. One that says what it is part of takes
// the place of an earlier one, others were not there before.
int CreateBeside(const std::string& path, std::string_view partial, mode_t mode,
                 const FileCalls& calls, std::string* name) {
  if (!partial.empty()) {
    *name = path + std::string(partial);
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
    return calls.Open(name->c_str(), flags, mode);
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    *name = (folder / fmt::format(".hloscope-{}-{}.tmp", ::getpid(), attempt)).string();
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int fd = calls.Open(name->c_str(), flags, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

}  // namespace

Result<FileView> FileView::Open(const std::string& path, const Limits& limits,
                                const FileCalls& calls) {
  const auto view_of = [&](Result<ByteBuffer> buffer) -> Result<FileView> {
    bool packed = false;
    if (buffer.has_value() && IsGzip(buffer->bytes())) {
      packed = true;
      buffer = Gunzip(buffer->bytes(), limits);
    }
    if (!buffer.has_value()) return AtPath(path, std::unexpected(std::move(buffer).error()));
    auto contents = std::make_shared<Contents>();
    contents->path = path;
    contents->buffer = *std::move(buffer);
    contents->bytes = contents->buffer.bytes();
    contents->was_packed = packed;
    return FileView(std::move(contents));
  };
  if (path != "-" && path != "/dev/stdin") return view_of(ReadStable(path, limits, calls));
  // It can be read once and is wanted several times: it is kept, and so is why it was not read to
  // its end.
  static std::mutex mutex;
  static std::optional<Result<FileView>> kept;
  const std::scoped_lock lock(mutex);
  const bool is_real = &calls == &SystemFileCalls();
  if (is_real && kept) return *kept;
  Result<FileView> opened = view_of(ReadAll(STDIN_FILENO, path, kNoEnd, limits, calls));
  if (is_real) kept = opened;
  return opened;
}

FileView FileView::FromBytes(std::string path, std::string bytes) {
  auto contents = std::make_shared<Contents>();
  contents->path = std::move(path);
  contents->text = std::move(bytes);
  contents->bytes = contents->text;
  return FileView(std::move(contents));
}

struct FileWriter::State {
  std::string path;  // as given
  Target target;
  const FileCalls& calls;
  std::string name;  // of what is written until it is whole; empty: it is written in place
  Descriptor file;

  State(std::string given, const FileCalls& system)
      : path(std::move(given)), target(TargetOf(path)), calls(system), file(-1, system) {}
  ~State() {
    if (!name.empty()) calls.Unlink(name.c_str());
  }

  Status Open(std::string_view partial) {
    if (target.mode.has_value() && S_ISDIR(*target.mode)) {
      return InputError("is a folder, not a file");
    }
    if (target.mode.has_value() && !S_ISREG(*target.mode)) {
      file.Reset(calls.Open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY, 0));
      if (file.get() < 0) return SystemError(target.path, "open for writing");
      return {};
    }
    const mode_t mode = target.mode.value_or(0666) & kPermissionBits;
    std::string beside;
    file.Reset(CreateBeside(target.path, partial, mode, calls, &beside));
    if (file.get() < 0) return CreateError(path, target.path);
    name = std::move(beside);
    return {};
  }

  Status Finish() {
    if (name.empty()) {
      if (file.Close() != 0) return SystemError(target.path, "close");
      return {};
    }
    // A file that was there keeps its mode, whatever the umask; where that cannot be set, the file
    // is written all the same.
    if (target.mode.has_value()) (void)::fchmod(file.get(), *target.mode & kPermissionBits);
    if (calls.Sync(file.get()) != 0) return SystemError(target.path, "write to disk");
    if (file.Close() != 0) return SystemError(target.path, "close");
    if (calls.Rename(name.c_str(), target.path.c_str()) != 0)
      return SystemError(target.path, "replace");
    name.clear();
    return {};
  }

  Status Named(Status status) const {
    if (status) return status;
    return AtPath(path, std::unexpected(std::move(status).error()));
  }
};

FileWriter::FileWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FileWriter::FileWriter(FileWriter&&) noexcept = default;
FileWriter& FileWriter::operator=(FileWriter&&) noexcept = default;
FileWriter::~FileWriter() = default;

Result<FileWriter> FileWriter::Create(const std::string& path, std::string_view partial,
                                      const FileCalls& calls) {
  auto state = std::make_unique<State>(path, calls);
  HLOSCOPE_TRY(state->Named(state->Open(partial)));
  return FileWriter(std::move(state));
}

Status FileWriter::Append(std::string_view bytes) {
  return state_->Named(WriteAll(state_->file.get(), bytes, state_->calls));
}

Status FileWriter::Finish() { return state_->Named(state_->Finish()); }

Status WriteFileAtomically(const std::string& path, std::string_view bytes,
                           const FileCalls& calls) {
  HLOSCOPE_ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(path, {}, calls));
  HLOSCOPE_TRY(writer.Append(bytes));
  return writer.Finish();
}

}  // namespace hloscope
