// Growth by realloc, which moves large blocks by remapping pages instead of copying them.
#include "core/base/byte_buffer.h"

#include <malloc.h>

#include <algorithm>

#include "core/base/memory_limit.h"

namespace hloscope {
namespace {

constexpr size_t kFirstCapacity = size_t{64} << 10;

}  // namespace

void ByteBuffer::Free::operator()(char* data) const {
  MemoryLimit::Charge(-static_cast<int64_t>(malloc_usable_size(data)));
  std::free(data);
}

char* ByteBuffer::Room(size_t* room) {
  if (size_ == capacity_ && !Resize(std::max(kFirstCapacity, capacity_ * 2))) return nullptr;
  *room = capacity_ - size_;
  return data_.get() + size_;
}

bool ByteBuffer::Finish() {
  if (!Resize(size_ + 1)) return false;
  data_.get()[size_] = '\0';
  return true;
}

bool ByteBuffer::Resize(size_t capacity) {
  const auto more = static_cast<int64_t>(capacity) - static_cast<int64_t>(capacity_);
  if (!MemoryLimit::Charge(more)) return false;
  char* old = data_.release();
  char* data = static_cast<char*>(std::realloc(old, capacity));
  data_.reset(data != nullptr ? data : old);
  if (data == nullptr) return false;
  capacity_ = capacity;
  return true;
}

}  // namespace hloscope
