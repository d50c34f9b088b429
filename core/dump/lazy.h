// Lazy<T>: a value that the first who asks makes and all others share.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "core/base/result.h"

namespace hloscope::dump {

template <typename T>
class Lazy {
 public:
  using Value = Result<std::shared_ptr<const T>>;

  // What `make` returned the first time; an error is kept as well. Others wait meanwhile.
  template <typename Make>
  Value Get(Make make) {
    std::scoped_lock lock(mutex_);
    if (!value_) value_ = make();
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<Value> value_;
};

}  // namespace hloscope::dump
