// Growth by realloc, which moves large blocks by remapping pages instead of copying them.
#include "core/base/byte_buffer.h"

#include <algorithm>

namespace hloscope {
namespace {

constexpr size_t kFirstCapacity = size_t{64} << 10;

}  // namespace

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
  char* old = data_.release();
  char* data = static_cast<char*>(std::realloc(old, capacity));
  data_.reset(data != nullptr ? data : old);
  if (data == nullptr) return false;
  capacity_ = capacity;
  return true;
}

}  // namespace hloscope
