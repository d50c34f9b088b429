// Sealed memory: bytes that travel between processes without a copy and that nobody can change or
// cut short once they are sent.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace hloscope {

// Where a part of several begins: at the next multiple of this many bytes.
inline constexpr size_t kPartAlignment = 64;
constexpr size_t AlignedUp(size_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

// A nameless file in memory that holds the parts one behind the other, each from a multiple of
// kPartAlignment on, sealed against every change. Gigabytes take seconds: `go_on` is asked every
// few milliseconds, and its error ends the work. Environment error: no memory or descriptors.
Result<UniqueFd> SealBytes(std::span<const std::span<const std::byte>> parts,
                           const std::function<Status()>& go_on);

struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // keeps them
};

// The first `size` bytes of sealed memory, mapped (or copied where there is no more address space).
// Input errors: it is not sealed, or smaller.
Result<SharedBytes> OpenSealed(const UniqueFd& fd, size_t size);

// A page that two processes both read and write: a nameless file of one page whose size is sealed.
Result<UniqueFd> MakeSharedPage();
inline constexpr size_t kSharedPageBytes = 4096;
// Maps it for reading and writing. Input errors: its size is another, or not sealed.
Result<std::shared_ptr<void>> MapSharedPage(const UniqueFd& fd);

}  // namespace hloscope
