// ByteBuffer: bytes that grow by what has really arrived and are never cleared first.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace hloscope {

class ByteBuffer {
 public:
  size_t size() const { return size_; }
  std::string_view bytes() const { return {data_.get(), size_}; }

  // Room for at least one more byte behind the contents and its size; null where memory is out. The
  // capacity doubles.
  char* Room(size_t* room);
  // The first `count` bytes of the room now belong to the contents.
  void Commit(size_t count) { size_ += count; }
  // Gives back what is not used but for one zero byte behind the contents; false where memory is
  // out.
  bool Finish();

 private:
  struct Free {
    void operator()(char* data) const;
  };
  bool Resize(size_t capacity);

  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace hloscope
