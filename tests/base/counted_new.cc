// Every allocation of a program that links this counts as steps of work (core/base/work_count.h).
#include <cstdlib>
#include <new>

#include "core/base/work_count.h"

void* operator new(std::size_t size) {
  hloscope::CountWork(1 + size / 64);
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  hloscope::CountWork(1 + size / 64);
  return std::malloc(size != 0 ? size : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
