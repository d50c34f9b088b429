// Lazy<T>: a value that the first who asks makes and all others share.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

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
    try {
      if (!value_) value_ = make();
    } catch (const std::exception& error) {
      // Not kept: there may be memory again later.
      return EnvironmentError(std::string("reading failed: ") + error.what());
    }
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<Value> value_;
};

}  // namespace hloscope::dump
