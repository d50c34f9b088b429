// What the expansions of several GPU libraries share: activations, biases, conversions that
// saturate.
#pragma once

#include <string_view>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/expansion.h"

namespace hloscope::hlo::expand {

// The dot_dimension_numbers of a config; Expansion::Dot checks them.
DotDimensions ReadDotDimensions(const CallConfig& config);

// The activation a name of GemmBackendConfig (RELU, BIAS_GELU_AUX, …) or of cuDNN (kRelu, kElu, …,
// or the number of that enum) stands for, applied to a wide value; names without one give the value
// itself. GELU is the tanh form, as in cuBLASLt; unsupported for names nobody knows.
Result<Expansion::Node> Activation(const CallSite& call, Expansion& x, std::string_view name,
                                   Expansion::Node value, double slope = 0);

// `bias` along the last dimensions of `like`.
Result<Expansion::Node> TrailingBroadcast(const CallSite& call, Expansion& x, Expansion::Node bias,
                                          Expansion::Node like);

// A conversion that never makes an infinity out of a number where the type is an f8, and stays in
// range where it is an integer: what the libraries' conversions do.
Expansion::Node SaturatingConvert(Expansion& x, Expansion::Node value, ElementType type);

}  // namespace hloscope::hlo::expand
