// Planting edge values among the elements of an array.
#include "core/replay/inputs/edge_values.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/eval/numbers/random_fill.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/float_types.h"
#include "core/replay/inputs/value_ranges.h"

namespace hloscope::replay {

using hlo::ElementType;
using hlo::Literal;

namespace {

constexpr uint64_t kOneIn = 8;

std::vector<double> EdgesOfFloat(ElementType type) {
  int bias = 127, mantissa_bits = 23;
  double largest = std::numeric_limits<float>::max();
  if (const hlo::FloatFormat* format = hlo::FindFloatFormat(type)) {
    bias = format->bias;
    mantissa_bits = format->mantissa_bits;
    largest = static_cast<double>(hlo::DecodeFloat(*format, format->max_finite()));
  } else if (type == ElementType::kF64) {
    bias = 1023;
    mantissa_bits = 52;
    largest = std::numeric_limits<double>::max();
  }
  const double normal = std::ldexp(1, 1 - bias);
  const double denormal = std::ldexp(1, 1 - bias - mantissa_bits);
  return {kInfinity, -kInfinity, std::nan(""),         0.0,      -0.0,  largest,
          -largest,  denormal,   -(normal - denormal), denormal, normal};
}

// Whole numbers as doubles lose the ends of 64 bits.
int64_t Whole(double value) {
  constexpr double kTop = 0x1p63;
  if (value >= kTop) return std::numeric_limits<int64_t>::max();
  return value < -kTop ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(value);
}

std::vector<int64_t> EdgesOfInteger(ElementType type, const InputConstraints& asked) {
  const int bits = hlo::BitWidth(type);
  const int64_t ones = -1;
  std::vector<int64_t> edges = {0, ones};
  edges.push_back(hlo::IsUnsigned(type) ? ones : int64_t{1} << (bits - 1));
  edges.push_back(static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1));
  if (std::isfinite(asked.range.low)) edges.push_back(Whole(asked.range.low - 1));
  if (std::isfinite(asked.range.high)) edges.push_back(Whole(asked.range.high + 1));
  for (const IndexColumn& column : asked.columns) edges.push_back(column.slots * column.step);
  return edges;
}

bool StaysAsItIs(const InputConstraints& asked, const InputConstraints& needed) {
  return !needed.empty() || asked.sorted || asked.distinct || asked.structure != Structure::kNone ||
         asked.range.low == asked.range.high;
}

template <typename W>
void Plant(ElementType type, const std::vector<W>& edges, uint64_t stream,
           std::vector<std::byte>& bytes) {
  eval::RandomBits random(stream);
  const auto size = static_cast<size_t>(hlo::StorageBytes(type));
  // The first edges come in order, so that a short array holds some of them too.
  size_t next = random.Next() % edges.size();
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    if (random.Next() % kOneIn != 0) continue;
    eval::StoreFrom<W>(type, &edges[next++ % edges.size()], bytes.data() + at, 1);
  }
}

}  // namespace

Literal WithEdgeValues(const Literal& array, const InputConstraints& asked,
                       const InputConstraints& needed, uint64_t stream) {
  const ElementType type = hlo::RealPart(array.shape().element_type());
  if (type == ElementType::kPred || StaysAsItIs(asked, needed)) return array;
  std::vector<std::byte> bytes(array.bytes().begin(), array.bytes().end());
  hlo::IsFloat(type) ? Plant(type, EdgesOfFloat(type), stream, bytes)
                     : Plant(type, EdgesOfInteger(type, asked), stream, bytes);
  Literal planted = Literal::Dense(array.shape(), std::move(bytes));
  if (array.shape().has_dynamic_dimension()) {
    planted.set_dynamic_sizes({array.dynamic_sizes().begin(), array.dynamic_sizes().end()});
  }
  return planted;
}

}  // namespace hloscope::replay
