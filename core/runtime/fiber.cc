// Stacks by mmap, switches by swapcontext.
#include "core/runtime/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace hloscope::runtime {

Fiber::~Fiber() {
  if (memory_ == nullptr) return;
#ifdef __SANITIZE_THREAD__
  if (shadow_ != nullptr) __tsan_destroy_fiber(shadow_);
#endif
  munmap(memory_, memory_bytes_);
}

bool Fiber::Make(int64_t stack_bytes, void (*body)(void*), void* argument) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  stack_bytes_ = (static_cast<size_t>(stack_bytes) + page - 1) / page * page;
  void* const memory = mmap(nullptr, stack_bytes_ + page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  memory_bytes_ = stack_bytes_ + page;
  // A large page would be cleared for the few that are used; a kernel without them refuses.
  static_cast<void>(madvise(memory_, memory_bytes_, MADV_NOHUGEPAGE));
  if (mprotect(memory_, page, PROT_NONE) != 0 || getcontext(&context_) != 0) return false;
  bottom_ = static_cast<std::byte*>(memory_) + page;
#ifdef __SANITIZE_THREAD__
  shadow_ = __tsan_create_fiber(0);
#endif
  body_ = body;
  argument_ = argument;
  context_.uc_stack.ss_sp = const_cast<void*>(bottom_);
  context_.uc_stack.ss_size = stack_bytes_;
  context_.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2,
              static_cast<unsigned>(self), static_cast<unsigned>(self >> 32));
  return true;
}

void Fiber::Enter(unsigned low, unsigned high) {
  auto* const self = reinterpret_cast<Fiber*>(uintptr_t{low} | uintptr_t{high} << 32);
  self->Arrive();
  self->body_(self->argument_);
  __builtin_trap();
}

void Fiber::Switch(Fiber& from, Fiber& to, [[maybe_unused]] End end) {
  to.came_from_ = &from;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(end == kEnds ? nullptr : &from.fake_stack_, to.bottom_,
                                 to.stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  if (from.shadow_ == nullptr) from.shadow_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.shadow_, 0);
#endif
  swapcontext(&from.context_, &to.context_);
  from.Arrive();
}

void Fiber::Arrive() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(fake_stack_, &came_from_->bottom_, &came_from_->stack_bytes_);
#endif
}

}  // namespace hloscope::runtime
