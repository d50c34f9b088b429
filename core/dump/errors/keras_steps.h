// Keras models on TensorFlow whose steps jit_compile does not compile, as `record` names them.
#pragma once

#include <string>

#include "core/dump/errors/explain.h"

namespace hloscope::dump {

struct KerasStep {
  std::string model, reason;  // "sequential"; a row of keras_reasons.def, with the layer: "layer e"
  std::string place;          // "train.py:12", the call of compile() or fit(); empty: not known
};

// "`sequential` (jit_compile=False, train.py:12)"
std::string ToText(const KerasStep& step);
ExplainedError ToError(const KerasStep& step);

}  // namespace hloscope::dump
