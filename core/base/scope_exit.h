// OnScopeExit: runs something when a scope is left, on whichever way.
#pragma once

#include <utility>

namespace hloscope {

template <typename Function>
class OnScopeExit {
 public:
  explicit OnScopeExit(Function function) : function_(std::move(function)) {}
  ~OnScopeExit() { function_(); }
  OnScopeExit(const OnScopeExit&) = delete;
  OnScopeExit& operator=(const OnScopeExit&) = delete;

 private:
  Function function_;
};

}  // namespace hloscope
