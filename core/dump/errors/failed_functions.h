// What the log of a TensorFlow program says of functions with jit_compile=True that were not
// compiled.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hloscope::dump {

struct FailedFunction {
  std::string what, fix;  // "AsString, p.py:4"; empty: the log does not say why
};

// Reads one log after another.
class FailedFunctions {
 public:
  void Read(std::string_view log);
  // By their name in the program, each with the error of the messages that name it.
  std::map<std::string, FailedFunction> Find() const;
  // A cluster that XLA refused was run without it: "Falling back to TF function call" of
  // tensorflow/compiler/jit/kernels/xla_ops.cc, which does not name the cluster.
  bool fell_back() const { return fell_back_; }

 private:
  std::map<std::string, std::string> messages_;  // by function, one after another
  bool fell_back_ = false;
};

}  // namespace hloscope::dump
