// The `operator new` and `delete` of the program: malloc and free, counted where a limit is in
// force on the thread. They are weak, so that a program may have its own.
#include "core/base/memory_limit.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "core/base/counted.h"

namespace hloscope {
namespace {

// Threads count by themselves up to this much, so that they do not wait for each other.
constexpr int64_t kStep = int64_t{256} << 10;
// What may be taken after a refusal, for the error and on the way out.
constexpr int64_t kReserve = int64_t{4} << 20;

constinit thread_local MemoryLimit* in_force = nullptr;
constinit thread_local int64_t uncounted = 0;  // of this thread, not charged yet

}  // namespace

MemoryLimit::MemoryLimit(int64_t bytes) : outer_(in_force), limit_(bytes) {
  if (outer_ != nullptr) return;
  in_force = this;
  uncounted = 0;
}

MemoryLimit::~MemoryLimit() {
  if (outer_ == nullptr) in_force = nullptr;
}

MemoryLimit* MemoryLimit::InForce() { return in_force; }

MemoryLimit::Joined::Joined(MemoryLimit* limit) : before_(in_force) {
  if (limit == before_) return;
  in_force = limit;
  uncounted = 0;
}

MemoryLimit::Joined::~Joined() {
  if (in_force == before_) return;
  if (in_force != nullptr) in_force->used_.fetch_add(uncounted, std::memory_order_relaxed);
  uncounted = 0;
  in_force = before_;
}

bool MemoryLimit::Take(int64_t bytes) {
  int64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (bytes <= 0) {
    // Memory from before the limit was in force gives nothing back.
    while (used < 0 && !used_.compare_exchange_weak(used, 0, std::memory_order_relaxed)) {
    }
    return true;
  }
  if (used <= limit_.load(std::memory_order_relaxed)) return true;
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

bool MemoryLimit::TryCharge(int64_t bytes) {
  MemoryLimit* const limit = in_force;
  if (limit == nullptr) return true;
  const int64_t total = uncounted + bytes;
  if (total > -kStep && total < kStep) {
    uncounted = total;
    return true;
  }
  uncounted = 0;
  if (limit->Take(total)) return true;
  uncounted = total - bytes;
  return false;
}

void MemoryLimit::Refuse() {
  MemoryLimit* const limit = in_force;
  if (limit != nullptr && !limit->is_exceeded_.exchange(true, std::memory_order_relaxed)) {
    limit->limit_.fetch_add(kReserve, std::memory_order_relaxed);
  }
}

bool MemoryLimit::Charge(int64_t bytes) {
  const bool fits = TryCharge(bytes);
  if (!fits) Refuse();
  return fits;
}

Error OverMemoryLimit(const std::string& path, const Limits& limits) {
  return {ErrorClass::kInput,
          "reading it takes more memory than the limit file-memory, " +
              Counted(limits.file_memory_bytes, "byte"),
          {path, 0, 0},
          "raise it with --limit file-memory=BYTES"};
}

namespace {

void* Allocate(std::size_t size) noexcept {
  const std::size_t wanted = size != 0 ? size : 1;
  if (in_force == nullptr) return std::malloc(wanted);
  // Before a large block is touched; the rest of what malloc gives is counted with the next.
  if (!MemoryLimit::TryCharge(static_cast<int64_t>(std::min<std::size_t>(wanted, INT64_MAX / 2)))) {
    // A destructor on the way out may need some, as that of a JSON tree does; a second exception
    // would end the program.
    return std::uncaught_exceptions() > 0 ? std::malloc(wanted) : nullptr;
  }
  void* const memory = std::malloc(wanted);
  if (memory == nullptr) {
    MemoryLimit::TryCharge(-static_cast<int64_t>(wanted));
  } else {
    uncounted += static_cast<int64_t>(malloc_usable_size(memory) - wanted);
  }
  return memory;
}

void Release(void* memory) noexcept {
  if (in_force != nullptr && memory != nullptr) {
    MemoryLimit::TryCharge(-static_cast<int64_t>(malloc_usable_size(memory)));
  }
  std::free(memory);
}

}  // namespace
}  // namespace hloscope

[[gnu::weak]] void* operator new(std::size_t size) {
  if (void* memory = hloscope::Allocate(size)) return memory;
  hloscope::MemoryLimit::Refuse();
  throw std::bad_alloc();
}
[[gnu::weak]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return hloscope::Allocate(size);
}
[[gnu::weak]] void operator delete(void* memory) noexcept { hloscope::Release(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept {
  hloscope::Release(memory);
}
