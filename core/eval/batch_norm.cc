// Kernels of batch normalisation, in f64 and rounded once.
#include <cmath>

#include "core/eval/kernels.h"
#include "core/eval/wide.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

std::vector<double> Load(const Value& value) {
  std::vector<double> out(static_cast<size_t>(ElementCount(value.shape())));
  LoadAs<double>(value.shape().element_type(), value.data(), out.data(),
                 static_cast<int64_t>(out.size()));
  return out;
}

Result<Value> Store(KernelCall& call, const Shape& shape, const std::vector<double>& values) {
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(shape));
  StoreFrom<double>(shape.element_type(), values.data(), out.data(),
                    static_cast<int64_t>(values.size()));
  return Value::Array(shape, std::move(out));
}

// An array seen as [outer, feature, inner].
struct Features {
  int64_t count = 1, inner = 1;
  double epsilon = 0;

  explicit Features(const KernelCall& call) {
    const auto& instruction = call.instruction();
    const Shape& shape = call.operand_shape(0);
    const auto d =
        static_cast<size_t>(call.module().GetInt(instruction, AttributeKey::kFeatureIndex));
    count = shape.dimension(d);
    for (size_t i = d + 1; i < shape.rank(); ++i) inner *= shape.dimension(i);
    const hlo::Attribute* attribute = call.module().Find(instruction, AttributeKey::kEpsilon);
    if (attribute != nullptr) epsilon = call.module().FloatOf(*attribute);
  }
  size_t Of(size_t element) const {
    return element / static_cast<size_t>(inner) % static_cast<size_t>(count);
  }
  std::vector<double> Zeros() const { return std::vector<double>(static_cast<size_t>(count)); }
};

double InverseDeviation(double variance, double epsilon) {
  return 1 / std::sqrt(variance + epsilon);
}

std::vector<double> Normalized(const Features& f, std::vector<double> x,
                               const std::vector<double>& scale, const std::vector<double>& offset,
                               const std::vector<double>& mean,
                               const std::vector<double>& variance) {
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = f.Of(i);
    x[i] = (x[i] - mean[c]) * InverseDeviation(variance[c], f.epsilon) * scale[c] + offset[c];
  }
  return x;
}

}  // namespace

Result<Value> BatchNormInferenceKernel(KernelCall& call) {
  const Features f(call);
  return Store(call, call.shape(),
               Normalized(f, Load(call.operands[0]), Load(call.operands[1]), Load(call.operands[2]),
                          Load(call.operands[3]), Load(call.operands[4])));
}

// Also yields mean and (biased) variance of each feature.
Result<Value> BatchNormTrainingKernel(KernelCall& call) {
  const Features f(call);
  const std::vector<double> x = Load(call.operands[0]);
  const double per_feature = static_cast<double>(x.size()) / static_cast<double>(f.count);
  std::vector<double> mean = f.Zeros(), variance = f.Zeros();
  for (size_t i = 0; i < x.size(); ++i) mean[f.Of(i)] += x[i];
  for (double& m : mean) m /= per_feature;
  for (size_t i = 0; i < x.size(); ++i) {
    const double deviation = x[i] - mean[f.Of(i)];
    variance[f.Of(i)] += deviation * deviation;
  }
  for (double& v : variance) v /= per_feature;
  const auto shapes = call.shape().elements();
  HLOSCOPE_ASSIGN_OR_RETURN(Value out, Store(call, shapes[0],
                                             Normalized(f, x, Load(call.operands[1]),
                                                        Load(call.operands[2]), mean, variance)));
  HLOSCOPE_ASSIGN_OR_RETURN(Value means, Store(call, shapes[1], mean));
  HLOSCOPE_ASSIGN_OR_RETURN(Value variances, Store(call, shapes[2], variance));
  return Value::Tuple({std::move(out), std::move(means), std::move(variances)});
}

// With d = dy - (Σdy + x̂·Σ(dy·x̂))/N and x̂ the normalised input: dx = scale·d/σ, dscale = Σ(dy·x̂),
// doffset = Σdy.
Result<Value> BatchNormGradKernel(KernelCall& call) {
  const Features f(call);
  const std::vector<double> x = Load(call.operands[0]), scale = Load(call.operands[1]);
  const std::vector<double> mean = Load(call.operands[2]), variance = Load(call.operands[3]);
  const std::vector<double> dy = Load(call.operands[4]);
  const double per_feature = static_cast<double>(x.size()) / static_cast<double>(f.count);
  std::vector<double> dscale = f.Zeros(), doffset = f.Zeros(), dx(x.size()), normalized(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = f.Of(i);
    normalized[i] = (x[i] - mean[c]) * InverseDeviation(variance[c], f.epsilon);
    dscale[c] += dy[i] * normalized[i];
    doffset[c] += dy[i];
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = f.Of(i);
    const double d = dy[i] - (doffset[c] + normalized[i] * dscale[c]) / per_feature;
    dx[i] = scale[c] * InverseDeviation(variance[c], f.epsilon) * d;
  }
  const auto shapes = call.shape().elements();
  HLOSCOPE_ASSIGN_OR_RETURN(Value out, Store(call, shapes[0], dx));
  HLOSCOPE_ASSIGN_OR_RETURN(Value scales, Store(call, shapes[1], dscale));
  HLOSCOPE_ASSIGN_OR_RETURN(Value offsets, Store(call, shapes[2], doffset));
  return Value::Tuple({std::move(out), std::move(scales), std::move(offsets)});
}

}  // namespace hloscope::eval
