// Fiber: a function on a stack of its own that runs on the thread of whoever switches to it, until
// it switches to another.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>

namespace hloscope::runtime {

class Fiber {
 public:
  Fiber() = default;  // what the thread runs already, once it switches to another
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // A stack of at least `stack_bytes`, with a page behind it that ends the process when it is
  // touched; the first switch calls body(argument), which must not return and ends by
  // Switch(…, kEnds). False: there is no memory.
  [[nodiscard]] bool Make(int64_t stack_bytes, void (*body)(void*), void* argument);

  enum End : uint8_t { kStays, kEnds };
  // Leaves `from`, which runs, for `to`; returns when something switches to `from` again, never
  // where it ends.
  static void Switch(Fiber& from, Fiber& to, End end = kStays);

 private:
  static void Enter(unsigned low, unsigned high);
  void Arrive();

  ucontext_t context_{};
  void* memory_ = nullptr;  // the stack, from the page that may not be touched
  size_t memory_bytes_ = 0;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  Fiber* came_from_ = nullptr;  // who switched to it last

  // For sanitizers, which have to be told of stacks.
  const void* bottom_ = nullptr;
  size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
  void* shadow_ = nullptr;
};

}  // namespace hloscope::runtime
