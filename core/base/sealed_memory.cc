// Memory files: written, sealed, checked, mapped.
#include "core/base/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "core/base/system_error.h"

namespace hloscope {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kAllSeals = kSizeSeals | F_SEAL_WRITE;
constexpr size_t kLargestCopy = size_t{1} << 24;
constexpr int kMaxAttempts = 500;
constexpr std::chrono::milliseconds kBetweenAttempts{10};

Result<UniqueFd> MakeMemory() {
  UniqueFd fd(memfd_create("hloscope", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return SystemFailure("create shared memory");
  return fd;
}

Status WriteAt(int fd, std::span<const std::byte> bytes, size_t offset,
               const std::function<Status()>& go_on) {
  while (!bytes.empty()) {
    HLOSCOPE_TRY(go_on());
    const ssize_t n =
        pwrite(fd, bytes.data(), std::min(bytes.size(), kLargestCopy), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return SystemFailure("fill shared memory", n == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += static_cast<size_t>(n);
  }
  return {};
}

// The kernel is busy while anything still holds a page of the file, as another processor's lists of
// new pages do for milliseconds on a loaded machine.
Status Seal(int fd, const std::function<Status()>& go_on) {
  for (int attempt = 0; fcntl(fd, F_ADD_SEALS, kAllSeals) != 0; ++attempt) {
    if (errno != EBUSY || attempt == kMaxAttempts) return SystemFailure("seal shared memory");
    HLOSCOPE_TRY(go_on());
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  return {};
}

Status CheckSealed(int fd, int seals, size_t size) {
  struct stat status{};
  const int have = fcntl(fd, F_GET_SEALS);
  if (have < 0 || (have & seals) != seals) return InputError("shared memory is not sealed");
  if (fstat(fd, &status) != 0) return SystemFailure("examine shared memory");
  if (status.st_size < 0 || static_cast<size_t>(status.st_size) < size) {
    return InputError("shared memory is smaller than declared");
  }
  return {};
}

Result<SharedBytes> CopyOf(int fd, size_t size) {
  std::shared_ptr<std::byte> copy(static_cast<std::byte*>(std::malloc(size)), std::free);
  if (copy == nullptr) return SystemFailure("copy shared memory", ENOMEM);
  for (size_t at = 0; at < size;) {
    const ssize_t n =
        pread(fd, copy.get() + at, std::min(size - at, kLargestCopy), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return SystemFailure("read shared memory", n == 0 ? EIO : errno);
    at += static_cast<size_t>(n);
  }
  return SharedBytes{{copy.get(), size}, copy};
}

}  // namespace

Result<UniqueFd> SealBytes(std::span<const std::span<const std::byte>> parts,
                           const std::function<Status()>& go_on) {
  HLOSCOPE_ASSIGN_OR_RETURN(UniqueFd fd, MakeMemory());
  size_t at = 0;
  for (const auto& part : parts) {
    HLOSCOPE_TRY(WriteAt(fd.get(), part, at, go_on));
    at += AlignedUp(part.size());
  }
  if (ftruncate(fd.get(), static_cast<off_t>(at)) != 0) return SystemFailure("fill shared memory");
  HLOSCOPE_TRY(Seal(fd.get(), go_on));
  return fd;
}

Result<SharedBytes> OpenSealed(const UniqueFd& fd, size_t size) {
  HLOSCOPE_TRY(CheckSealed(fd.get(), kAllSeals, size));
  if (size == 0) return SharedBytes{};
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return CopyOf(fd.get(), size);
  auto unmap = [size](const void* mapped) { munmap(const_cast<void*>(mapped), size); };
  return SharedBytes{{static_cast<const std::byte*>(data), size},
                     std::shared_ptr<const void>(data, unmap)};
}

Result<UniqueFd> MakeSharedPage() {
  HLOSCOPE_ASSIGN_OR_RETURN(UniqueFd fd, MakeMemory());
  if (ftruncate(fd.get(), kSharedPageBytes) != 0) return SystemFailure("fill shared memory");
  if (fcntl(fd.get(), F_ADD_SEALS, kSizeSeals) != 0) return SystemFailure("seal shared memory");
  return fd;
}

Result<std::shared_ptr<void>> MapSharedPage(const UniqueFd& fd) {
  HLOSCOPE_TRY(CheckSealed(fd.get(), kSizeSeals, kSharedPageBytes));
  void* data = mmap(nullptr, kSharedPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return SystemFailure("map shared memory");
  return std::shared_ptr<void>(data, [](void* mapped) { munmap(mapped, kSharedPageBytes); });
}

}  // namespace hloscope
