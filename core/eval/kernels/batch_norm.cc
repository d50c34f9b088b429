// Kernels of batch normalisation, in f64 and rounded once.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/eval/loops/whole_arrays.h"
#include "core/eval/machine/kernels.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

Result<std::vector<double>> Load(KernelCall& call, size_t i) {
  const Shape& shape = call.operand_shape(i);
  std::vector<double> out(static_cast<size_t>(ElementCount(shape)));
  HLOSCOPE_TRY(LoadAll<double>(call.machine, shape.element_type(), call.operands[i].data(),
                               out.data(), ElementCount(shape)));
  return out;
}

Result<Value> Store(KernelCall& call, const Shape& shape, const std::vector<double>& values) {
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  HLOSCOPE_TRY(StoreAll<double>(call.machine, shape.element_type(), values.data(), out.data(),
                                static_cast<int64_t>(values.size())));
  return Value::Array(shape, std::move(out));
}

constexpr int64_t kGrain = 1 << 16;  // elements
constexpr int64_t kNeighbours = 16;  // elements that a thread takes of each row at least

// An array seen as [outer, feature, inner].
struct Features {
  int64_t outer = 1, count = 1, inner = 1;
  double epsilon = 0;

  explicit Features(const KernelCall& call) {
    const auto& instruction = call.instruction();
    const Shape& shape = call.operand_shape(0);
    const auto d =
        static_cast<size_t>(call.module().GetInt(instruction, AttributeKey::kFeatureIndex));
    count = shape.dimension(d);
    for (size_t i = 0; i < d; ++i) outer *= shape.dimension(i);
    for (size_t i = d + 1; i < shape.rank(); ++i) inner *= shape.dimension(i);
    const hlo::Attribute* attribute = call.module().Find(instruction, AttributeKey::kEpsilon);
    if (attribute != nullptr) epsilon = call.module().FloatOf(*attribute);
  }
  std::vector<double> Zeros() const { return std::vector<double>(static_cast<size_t>(count)); }
  double per_feature() const { return static_cast<double>(outer * inner); }

  // body(feature, element) for every element; those of one feature on one thread, in order.
  template <typename Body>
  Status ForEach(Machine& machine, const Body& body) const {
    const int64_t shortest = kNeighbours / std::clamp<int64_t>(inner, 1, kNeighbours);
    const int64_t grain = std::max(shortest, kGrain / std::max<int64_t>(1, outer * inner));
    return machine.ForRanges(count, grain, [&](IndexRange range) -> Status {
      for (int64_t o = 0; o < outer; ++o) {
        for (int64_t c = range.begin; c < range.end; ++c) {
          const int64_t first = (o * count + c) * inner;
          for (int64_t i = first; i < first + inner; ++i) {
            body(static_cast<size_t>(c), static_cast<size_t>(i));
          }
        }
      }
      return {};
    });
  }
};

std::vector<double> InverseDeviations(std::vector<double> variances, double epsilon) {
  for (double& v : variances) v = 1 / std::sqrt(v + epsilon);
  return variances;
}

// What an array is normalised with, one number for each feature.
struct Statistics {
  std::vector<double> scale, offset, mean, variance;
};

// The operations of XLA in its order (BatchNormExpander), which decides about infinities and zeros.
Status ScaleAndShift(KernelCall& call, const Features& f, const Statistics& s,
                     std::vector<double>& x) {
  std::vector<double> scale = InverseDeviations(s.variance, f.epsilon), shift = s.offset;
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] *= s.scale[c];
    shift[c] -= s.mean[c] * scale[c];
  }
  return f.ForEach(call.machine, [&](size_t c, size_t i) { x[i] = x[i] * scale[c] + shift[c]; });
}
Status Normalize(KernelCall& call, const Features& f, const Statistics& s, std::vector<double>& x) {
  const auto inverse = InverseDeviations(s.variance, f.epsilon);
  return f.ForEach(call.machine, [&](size_t c, size_t i) {
    x[i] = (x[i] - s.mean[c]) * inverse[c] * s.scale[c] + s.offset[c];
  });
}

}  // namespace

Result<Value> BatchNormInferenceKernel(KernelCall& call) {
  const Features f(call);
  Statistics s;
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<double> x, Load(call, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(s.scale, Load(call, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(s.offset, Load(call, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(s.mean, Load(call, 3));
  HLOSCOPE_ASSIGN_OR_RETURN(s.variance, Load(call, 4));
  HLOSCOPE_TRY(ScaleAndShift(call, f, s, x));
  return Store(call, call.shape(), x);
}

// Also yields mean and (biased) variance of each feature.
Result<Value> BatchNormTrainingKernel(KernelCall& call) {
  const Features f(call);
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<double> x, Load(call, 0));
  Statistics s{{}, {}, f.Zeros(), f.Zeros()};
  HLOSCOPE_ASSIGN_OR_RETURN(s.scale, Load(call, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(s.offset, Load(call, 2));
  HLOSCOPE_TRY(f.ForEach(call.machine, [&](size_t c, size_t i) { s.mean[c] += x[i]; }));
  for (double& m : s.mean) m /= f.per_feature();
  HLOSCOPE_TRY(f.ForEach(call.machine, [&](size_t c, size_t i) {
    const double deviation = x[i] - s.mean[c];
    s.variance[c] += deviation * deviation;
  }));
  for (double& v : s.variance) v /= f.per_feature();
  HLOSCOPE_TRY(Normalize(call, f, s, x));
  const auto shapes = call.shape().elements();
  HLOSCOPE_ASSIGN_OR_RETURN(Value out, Store(call, shapes[0], x));
  HLOSCOPE_ASSIGN_OR_RETURN(Value means, Store(call, shapes[1], s.mean));
  HLOSCOPE_ASSIGN_OR_RETURN(Value variances, Store(call, shapes[2], s.variance));
  return Value::Tuple({std::move(out), std::move(means), std::move(variances)});
}

// With d = dy - (Σdy + x̂·Σ(dy·x̂))/N and x̂ the normalised input: dx = scale·d/σ, dscale = Σ(dy·x̂),
// doffset = Σdy.
Result<Value> BatchNormGradKernel(KernelCall& call) {
  const Features f(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto x, Load(call, 0));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto scale, Load(call, 1));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto mean, Load(call, 2));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto variance, Load(call, 3));
  HLOSCOPE_ASSIGN_OR_RETURN(const auto dy, Load(call, 4));
  const auto inverse = InverseDeviations(variance, f.epsilon);
  std::vector<double> dscale = f.Zeros(), doffset = f.Zeros(), dx(x.size()), normalized(x.size());
  HLOSCOPE_TRY(f.ForEach(call.machine, [&](size_t c, size_t i) {
    normalized[i] = (x[i] - mean[c]) * inverse[c];
    dscale[c] += dy[i] * normalized[i];
    doffset[c] += dy[i];
  }));
  HLOSCOPE_TRY(f.ForEach(call.machine, [&](size_t c, size_t i) {
    const double d = dy[i] - (doffset[c] + normalized[i] * dscale[c]) / f.per_feature();
    dx[i] = scale[c] * inverse[c] * d;
  }));
  const auto shapes = call.shape().elements();
  HLOSCOPE_ASSIGN_OR_RETURN(Value out, Store(call, shapes[0], dx));
  HLOSCOPE_ASSIGN_OR_RETURN(Value scales, Store(call, shapes[1], dscale));
  HLOSCOPE_ASSIGN_OR_RETURN(Value offsets, Store(call, shapes[2], doffset));
  return Value::Tuple({std::move(out), std::move(scales), std::move(offsets)});
}

}  // namespace hloscope::eval
