// cuDNN's layer norm: forward, forward with the statistics training needs, and backward. Operands
// are [rows, features…]; scale and bias [1, features…]; statistics one number per row.
#include <algorithm>
#include <vector>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

// The wide forms of everything, spread over the shape of x.
class LayerNorm {
 public:
  LayerNorm(Expansion& x, const Shape& shape) : x_(x), sizes_(Dimensions(shape)) {
    for (size_t d = 0; d < sizes_.size(); ++d) all_.push_back(static_cast<int64_t>(d));
    features_.assign(all_.begin() + 1, all_.end());
    for (size_t d = 1; d < sizes_.size(); ++d) count_ *= static_cast<double>(sizes_[d]);
  }

  Node Load(size_t operand) { return x_.Convert(x_.Operand(operand), ElementType::kF64); }
  // [1, features…] over the rows.
  Node Features(size_t operand) {
    const std::vector<int64_t> sizes(sizes_.begin() + 1, sizes_.end());
    return x_.Broadcast(x_.Reshape(Load(operand), sizes), sizes_, features_);
  }
  // One number per row, over the features.
  Node Rows(Node row) { return x_.Broadcast(x_.Reshape(row, {sizes_[0]}), sizes_, {0}); }
  // Means over the features, one per row.
  Node Mean(Node value) {
    return x_.Binary(Opcode::kDivide, x_.Reduce(Opcode::kAdd, value, 0, features_), count_);
  }
  Node SumRows(Node value) { return x_.Reduce(Opcode::kAdd, value, 0, {0}); }
  Node Times(Node a, Node b) { return x_.Binary(Opcode::kMultiply, a, b); }
  Node Minus(Node a, Node b) { return x_.Binary(Opcode::kSubtract, a, b); }
  // As result element i of the call.
  Node Result(Node value, const Shape& shape) {
    return x_.Convert(x_.Reshape(value, Dimensions(shape)), shape.element_type());
  }

 private:
  Expansion& x_;
  std::vector<int64_t> sizes_, all_, features_;
  double count_ = 1;
};

// y = (x − mean)·norm·scale + bias with norm = 1/√(variance + epsilon).
Result<ModulePtr> NormForward(const CallSite& call, bool statistics, double epsilon) {
  Expansion x(call);
  LayerNorm n(x, call.operand_shape(0));
  const Node input = n.Load(0);
  const Node mean = n.Mean(input);
  const Node centred = n.Minus(input, n.Rows(mean));
  const Node variance = n.Mean(n.Times(centred, centred));
  const Node norm = x.Unary(Opcode::kRsqrt, x.Binary(Opcode::kAdd, variance, epsilon));
  const Node scaled = n.Times(n.Times(centred, n.Rows(norm)), n.Features(1));
  const Node y = x.Binary(Opcode::kAdd, scaled, n.Features(2));
  const auto shapes = call.shape().elements();
  std::vector<Node> results = {n.Result(y, shapes[0])};
  if (statistics) {
    results.push_back(n.Result(mean, shapes[1]));
    results.push_back(n.Result(norm, shapes[2]));
  }
  return x.Build(results);
}

// Operands x, scale, dy, mean, norm; results dx, dscale, dbias. With x̂ = (x − mean)·norm and
// g = dy·scale: dx = norm·(g − mean(g) − x̂·mean(g·x̂)).
Result<ModulePtr> NormBackward(const CallSite& call) {
  Expansion x(call);
  LayerNorm n(x, call.operand_shape(0));
  const Node norm = n.Rows(n.Load(4));
  const Node hat = n.Times(n.Minus(n.Load(0), n.Rows(n.Load(3))), norm);
  const Node dy = n.Load(2);
  const Node g = n.Times(dy, n.Features(1));
  const Node along = n.Times(hat, n.Rows(n.Mean(n.Times(g, hat))));
  const Node dx = n.Times(norm, n.Minus(n.Minus(g, n.Rows(n.Mean(g))), along));
  const auto shapes = call.shape().elements();
  const Node results[] = {n.Result(dx, shapes[0]), n.Result(n.SumRows(n.Times(dy, hat)), shapes[1]),
                          n.Result(n.SumRows(dy), shapes[2])};
  return x.Build(results);
}

// Every operand and result has as many elements as its role says.
bool SizesFit(const CallSite& call, std::span<const char> operands, std::span<const char> results) {
  const Shape& x = call.operand_shape(0);
  const int64_t count = ElementCount(x), rows = x.dimension(0);
  auto fits = [&](char role, const Shape& shape) {
    const int64_t want = role == 'x' ? count : role == 'r' ? rows : rows == 0 ? 0 : count / rows;
    return shape.IsArray() && ElementCount(shape) == want;
  };
  if (call.operand_count() != operands.size()) return false;
  if (call.shape().elements().size() < results.size()) return false;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!fits(operands[i], call.operand_shape(i))) return false;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!fits(results[i], call.shape().elements()[i])) return false;
  }
  return true;
}

}  // namespace

Result<ModulePtr> ExpandCudnnNorm(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  const CallConfig& config = whole.Section("cudnn_norm_backend_config");
  if (call.operand_count() == 0 || call.operand_shape(0).rank() < 2) {
    return Invalid(call, "its operand is not rows of features");
  }
  const std::string_view kind = config.Text("kind");
  const double epsilon = config.Number("epsilon", 0);
  // Roles: x an array like the operand, r one number per row, f one per feature.
  constexpr char kForward[] = {'x', 'f', 'f'}, kStatistics[] = {'x', 'r', 'r'};
  constexpr char kBackward[] = {'x', 'f', 'x', 'r', 'r'}, kGradients[] = {'x', 'f', 'f'};
  if ((kind.empty() || kind == "LAYER_FWD_INFER") &&
      SizesFit(call, kForward, std::span(kStatistics).first(1))) {
    return NormForward(call, false, epsilon);
  }
  if (kind == "LAYER_FWD_TRAIN" && SizesFit(call, kForward, kStatistics)) {
    return NormForward(call, true, epsilon);
  }
  if (kind == "LAYER_BWD" && SizesFit(call, kBackward, kGradients)) return NormBackward(call);
  return Invalid(call, "its operands and results do not match its kind of norm");
}

}  // namespace hloscope::hlo::expand
