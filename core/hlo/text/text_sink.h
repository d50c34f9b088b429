// TextSink: fast appending to a std::string. The string is kept at its full capacity while the sink
// lives, so that an append is a bound check and a copy; it gets its true length at the end.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hloscope::hlo {

class TextSink {
 public:
  explicit TextSink(std::string& out) : out_(out) { Open(out.size()); }
  ~TextSink() { Close(); }
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;

  size_t size() const { return static_cast<size_t>(position_ - out_.data()); }
  [[gnu::always_inline]] void Reserve(size_t more) {
    if (static_cast<size_t>(end_ - position_) < more) Grow(more);
  }

  [[gnu::always_inline]] void Append(char c) {
    Reserve(1);
    *position_++ = c;
  }
  [[gnu::always_inline]] void Append(std::string_view text) {
    Reserve(text.size());
    Copy(position_, text.data(), text.size());
    position_ += text.size();
  }
  template <size_t N>
  [[gnu::always_inline]] void Append(const char (&text)[N]) {
    Reserve(N - 1);
    std::memcpy(position_, text, N - 1);
    position_ += N - 1;
  }
  [[gnu::always_inline]] void Append(int64_t value) {
    Reserve(20);
    position_ = std::to_chars(position_, position_ + 20, value).ptr;
  }
  // What was written since `start`, an earlier size(). Valid until the next append.
  std::string_view From(size_t start) const { return {out_.data() + start, size() - start}; }
  void Clear() { position_ = out_.data(); }
  // Takes away what was written since `start`, an earlier size().
  std::string TakeFrom(size_t start) {
    std::string taken(out_.data() + start, position_);
    position_ = out_.data() + start;
    return taken;
  }
  // Lets `append` add to the string itself.
  template <typename F>
  void Through(F append) {
    Close();
    append(out_);
    Open(out_.size());
  }

 private:
  [[gnu::always_inline]] static void Copy(char* to, const char* from, size_t n) {
    if (n > 32) {
      std::memcpy(to, from, n);
    } else if (n >= 16) {
      CopyEnds<16>(to, from, n);
    } else if (n >= 8) {
      CopyEnds<8>(to, from, n);
    } else if (n >= 4) {
      CopyEnds<4>(to, from, n);
    } else {
      for (size_t i = 0; i < n; ++i) to[i] = from[i];
    }
  }
  // Copies kWidth <= n <= 2 * kWidth bytes as two blocks that may overlap.
  template <size_t kWidth>
  static void CopyEnds(char* to, const char* from, size_t n) {
    char head[kWidth], tail[kWidth];
    std::memcpy(head, from, kWidth);
    std::memcpy(tail, from + n - kWidth, kWidth);
    std::memcpy(to, head, kWidth);
    std::memcpy(to + n - kWidth, tail, kWidth);
  }

  void Open(size_t used) {
    out_.resize_and_overwrite(out_.capacity(), [](char*, size_t n) { return n; });
    position_ = out_.data() + used;
    end_ = out_.data() + out_.size();
  }
  void Close() { out_.resize(size()); }
  [[gnu::noinline]] void Grow(size_t more) {
    Close();
    size_t used = out_.size();
    out_.reserve(used + std::max(more, used) + 256);
    Open(used);
  }

  std::string& out_;
  char* position_;
  char* end_;
};

}  // namespace hloscope::hlo
