// cuDNN's fused attention, forward and backward: softmax(scale·q·kᵀ + bias) · v with masks,
// computed wide. Everything is brought to [batch, head, row, column] first, whatever the call's
// layout.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"
#include "core/hlo/expand/library_math.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

constexpr ElementType kWide = ElementType::kF64;

// Which dimension of an operand is contracted, and which two are batch and head, by one of the
// config's dot_dimension_numbers.
struct Side {
  std::vector<int64_t> batch;
  int64_t contracted = 0;
};

Result<Side> SideOf(const CallSite& call, const CallConfig& config, std::string_view dot,
                    std::string_view side) {
  const CallConfig& dims = config.Section(dot);
  Side s{dims.Integers(fmt::format("{}_batch_dimensions", side)), 0};
  const auto contracted = dims.Integers(fmt::format("{}_contracting_dimensions", side));
  std::vector<int64_t> all = s.batch;
  all.insert(all.end(), contracted.begin(), contracted.end());
  std::ranges::sort(all);
  const bool distinct = std::ranges::adjacent_find(all) == all.end();
  if (s.batch.size() != 2 || contracted.size() != 1 || !distinct || all[0] < 0 || all[2] > 3) {
    return Unsupported(call, fmt::format("its {} is not one that attention has", dot));
  }
  s.contracted = contracted[0];
  return s;
}

// A mask of the columns (and rows) that count.
struct Masks {
  bool causal = false, padding = false;
  int64_t window = 0;
};

// What an attention call is made of; operands q, k, v come first.
struct Attention {
  double scale = 1;
  Masks masks;
  bool has_bias = false;
};

Result<Attention> ReadAttention(const CallSite& call, const CallConfig& config) {
  Attention a;
  a.scale = config.Number("fmha_scale", 1);
  if (config.Number("dropout_rate", 0) != 0) {
    return Unsupported(call, "its dropout uses cuDNN's random numbers");
  }
  if (config.Integer("max_seg_per_batch", 1) > 1) {
    return Unsupported(call, "packed sequences are not supported");
  }
  if (config.Flag("is_paged_attention")) return Unsupported(call, "paged keys are not supported");
  const std::string_view mask = config.Text("mask_type");
  if (mask == "ALIBI") return Unsupported(call, "its ALiBi slopes are not documented");
  a.masks.causal = mask == "CAUSAL" || mask == "PADDING_CAUSAL" || config.Flag("is_causal_mask");
  a.masks.padding = mask == "PADDING" || mask == "PADDING_CAUSAL";
  a.masks.window = config.Integer("sliding_window_length", 0);
  a.has_bias =
      call.module().GetString(call.instruction(), AttributeKey::kCustomCallTarget).find("Bias") !=
      std::string_view::npos;
  return a;
}

class AttentionBuilder {
 public:
  AttentionBuilder(const CallSite& call, const Attention& attention)
      : call_(call), a_(attention), x_(call) {}

  Expansion& x() { return x_; }
  Node Wide(size_t operand) { return x_.Convert(x_.Operand(operand), kWide); }

  // Operand as [batch, head, rows, columns]; `contracted_last` says which of both the contracted
  // dimension becomes.
  Result<Node> Arrange(size_t operand, const Side& side, bool contracted_last) {
    if (operand >= x_.operand_count() || call_.operand_shape(operand).rank() != 4) {
      return Invalid(call_, "its operands do not have four dimensions");
    }
    const int64_t rest = 6 - side.batch[0] - side.batch[1] - side.contracted;
    std::vector<int64_t> order = side.batch;
    order.push_back(contracted_last ? rest : side.contracted);
    order.push_back(contracted_last ? side.contracted : rest);
    return x_.Transpose(Wide(operand), order);
  }

  // Heads of keys and values stand for several heads of the queries: each repeated.
  Result<Node> Repeat(Node keys, int64_t heads) {
    const auto sizes = Dimensions(x_.ShapeOf(keys));
    if (sizes[1] == heads) return keys;
    if (sizes[1] == 0 || heads % sizes[1] != 0) {
      return Invalid(call_, "its numbers of heads are incompatible");
    }
    const Node spread = x_.Broadcast(
        keys, {sizes[0], sizes[1], heads / sizes[1], sizes[2], sizes[3]}, {0, 1, 3, 4});
    return x_.Reshape(spread, {sizes[0], heads, sizes[2], sizes[3]});
  }
  // Back: gradients of repeated heads are summed.
  Node SumRepeated(Node gradient, int64_t heads) {
    const auto sizes = Dimensions(x_.ShapeOf(gradient));
    if (sizes[1] == heads) return gradient;
    const Node split =
        x_.Reshape(gradient, {sizes[0], heads, sizes[1] / heads, sizes[2], sizes[3]});
    return x_.Reduce(Opcode::kAdd, split, 0, {2});
  }

  // x·y over x's and y's dimensions given, both [batch, head, …].
  Node Product(Node x, int64_t x_contracted, Node y, int64_t y_contracted) {
    return x_.Dot(x, y, {{0, 1}, {x_contracted}, {0, 1}, {y_contracted}}, kWide);
  }

  // scale·q·kᵀ + bias, −∞ where masked.
  Result<Node> Scores(Node q, Node k, std::optional<size_t> bias, std::optional<size_t> lengths) {
    const auto q_sizes = Dimensions(x_.ShapeOf(q)), k_sizes = Dimensions(x_.ShapeOf(k));
    if (q_sizes[0] != k_sizes[0] || q_sizes[3] != k_sizes[3]) {
      return Invalid(call_, "its queries and keys have incompatible shapes");
    }
    Node scores = x_.Binary(Opcode::kMultiply, Product(q, 3, k, 3), a_.scale);
    if (bias) {
      HLOSCOPE_ASSIGN_OR_RETURN(const Node spread, SpreadBias(*bias, scores));
      scores = x_.Binary(Opcode::kAdd, scores, spread);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const auto visible, Visible(scores, lengths));
    if (!visible) return scores;
    const Node hidden = x_.Constant(kWide, -std::numeric_limits<double>::infinity());
    return x_.Select(*visible, scores, hidden);
  }

  // Rows that see nothing are all zeros.
  struct Softmax {
    Node weights, statistics;  // statistics: the logarithm of each row's sum
  };
  Softmax Normalise(Node scores) {
    const Node top =
        x_.Reduce(Opcode::kMaximum, scores, -std::numeric_limits<double>::infinity(), {3});
    const Node least = x_.Constant(kWide, std::numeric_limits<double>::lowest());
    const Node finite = x_.Binary(Opcode::kMaximum, top, least);
    const Node raised =
        x_.Unary(Opcode::kExp, x_.Binary(Opcode::kSubtract, scores, AlongRows(finite, scores)));
    const Node sum = x_.Reduce(Opcode::kAdd, raised, 0, {3});
    const Node zero = x_.Constant(kWide, 0), one = x_.Constant(kWide, 1);
    const Node divisor = x_.Select(x_.Compare(ComparisonDirection::kEq, sum, zero), one, sum);
    return {x_.Binary(Opcode::kDivide, raised, AlongRows(divisor, scores)),
            x_.Binary(Opcode::kAdd, finite, x_.Unary(Opcode::kLog, sum))};
  }
  Node AlongRows(Node rows, Node like) {
    return x_.Broadcast(rows, Dimensions(x_.ShapeOf(like)), {0, 1, 2});
  }

  // Sums a gradient of the scores to the sizes of the bias.
  Node BiasGradient(Node gradient, const Shape& bias) {
    const auto sizes = Dimensions(x_.ShapeOf(gradient));
    std::vector<int64_t> summed;
    for (size_t d = 0; d < 4; ++d) {
      if (bias.dimension(d) != sizes[d]) summed.push_back(static_cast<int64_t>(d));
    }
    if (summed.empty()) return gradient;
    return x_.Reshape(x_.Reduce(Opcode::kAdd, gradient, 0, summed), Dimensions(bias));
  }

 private:
  // Dimensions of size 1 are repeated.
  Result<Node> SpreadBias(size_t operand, Node scores) {
    if (operand >= x_.operand_count()) return Invalid(call_, "its bias is missing");
    const Shape& bias = call_.operand_shape(operand);
    const auto sizes = Dimensions(x_.ShapeOf(scores));
    std::vector<int64_t> kept, kept_sizes;
    for (size_t d = 0; d < bias.rank() && bias.rank() == 4; ++d) {
      if (bias.dimension(d) == 1 && sizes[d] != 1) continue;
      if (bias.dimension(d) != sizes[d])
        return Invalid(call_, "its bias does not match the result");
      kept.push_back(static_cast<int64_t>(d));
      kept_sizes.push_back(sizes[d]);
    }
    if (bias.rank() != 4) return Invalid(call_, "its bias does not have four dimensions");
    return x_.Broadcast(x_.Reshape(Wide(operand), kept_sizes), sizes, kept);
  }

  Node Both(std::optional<Node> a, Node b) { return a ? x_.Binary(Opcode::kAnd, *a, b) : b; }

  // Which scores count, as a pred array like them; nothing where all do.
  Result<std::optional<Node>> Visible(Node scores, std::optional<size_t> lengths) {
    const auto sizes = Dimensions(x_.ShapeOf(scores));
    std::optional<Node> visible;
    const Node row = x_.Iota(ElementType::kS64, sizes, 2);
    const Node column = x_.Iota(ElementType::kS64, sizes, 3);
    if (a_.masks.causal) visible = x_.Compare(ComparisonDirection::kLe, column, row);
    if (a_.masks.window > 0) {
      const Node first = x_.Binary(Opcode::kSubtract, row, static_cast<double>(a_.masks.window));
      visible = Both(visible, x_.Compare(ComparisonDirection::kGt, column, first));
    }
    if (!lengths || !a_.masks.padding) return visible;
    for (size_t i = 0; i < 2; ++i) {
      const size_t operand = *lengths + i;
      if (operand >= x_.operand_count() || ElementCount(call_.operand_shape(operand)) != sizes[0]) {
        return Invalid(call_, "its sequence lengths do not match the batch");
      }
      const Node length = x_.Broadcast(
          x_.Reshape(x_.Convert(x_.Operand(operand), ElementType::kS64), {sizes[0]}), sizes, {0});
      visible = Both(visible, x_.Compare(ComparisonDirection::kLt, i == 0 ? row : column, length));
    }
    return visible;
  }

  const CallSite& call_;
  const Attention& a_;
  Expansion x_;
};

Node Magnitude(Expansion& x, Node value) {
  return x.Reduce(Opcode::kMaximum, x.Unary(Opcode::kAbs, value), 0, {0, 1, 2, 3});
}

// The first result, brought from [batch, head, row, column] to the type of the call's; further
// results are the statistics, or the weights themselves where the place has four dimensions.
Result<ModulePtr> FinishForward(const CallSite& call, Expansion& x, Node output,
                                const AttentionBuilder::Softmax& softmax) {
  std::vector<Node> results = {x.Convert(output, MainShape(call).element_type())};
  const auto elements = call.shape().elements();
  if (elements.size() > 2) {
    const Node second = elements[1].rank() == 4 ? softmax.weights : softmax.statistics;
    results.push_back(x.Convert(second, elements[1].element_type()));
  }
  return x.Build(results);
}

struct ForwardOperands {
  Node q, k, v;
};

Result<ForwardOperands> ArrangeForward(const CallSite& call, const CallConfig& config,
                                       AttentionBuilder& b) {
  constexpr std::string_view kFirst = "bmm1_dot_dimension_numbers";
  constexpr std::string_view kSecond = "bmm2_dot_dimension_numbers";
  HLOSCOPE_ASSIGN_OR_RETURN(const Side q_side, SideOf(call, config, kFirst, "lhs"));
  HLOSCOPE_ASSIGN_OR_RETURN(const Side k_side, SideOf(call, config, kFirst, "rhs"));
  HLOSCOPE_ASSIGN_OR_RETURN(const Side v_side, SideOf(call, config, kSecond, "rhs"));
  HLOSCOPE_ASSIGN_OR_RETURN(const Node q, b.Arrange(0, q_side, true));
  HLOSCOPE_ASSIGN_OR_RETURN(Node k, b.Arrange(1, k_side, true));
  HLOSCOPE_ASSIGN_OR_RETURN(Node v, b.Arrange(2, v_side, false));
  const int64_t heads = b.x().ShapeOf(q).dimension(1);
  HLOSCOPE_ASSIGN_OR_RETURN(k, b.Repeat(k, heads));
  HLOSCOPE_ASSIGN_OR_RETURN(v, b.Repeat(v, heads));
  const Shape keys = b.x().ShapeOf(k), values = b.x().ShapeOf(v);
  if (keys.dimension(0) != values.dimension(0) || keys.dimension(2) != values.dimension(2)) {
    return Invalid(call, "its keys and values have incompatible shapes");
  }
  return ForwardOperands{q, k, v};
}

struct Configured {
  CallConfig whole;
  const CallConfig& section() const { return whole.Section("cudnn_fmha_backend_config"); }
};

Result<Configured> ReadConfig(const CallSite& call, size_t operands) {
  if (call.operand_count() < operands) return Invalid(call, "operands are missing");
  HLOSCOPE_ASSIGN_OR_RETURN(CallConfig whole, CallConfig::Of(call));
  return Configured{std::move(whole)};
}

}  // namespace

// Operands q, k, v, then a bias, then the lengths of queries and of keys, as far as they are there.
Result<ModulePtr> ExpandCudnnAttention(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Configured config, ReadConfig(call, 3));
  HLOSCOPE_ASSIGN_OR_RETURN(const Attention a, ReadAttention(call, config.section()));
  AttentionBuilder b(call, a);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto in, ArrangeForward(call, config.section(), b));
  const size_t lengths = a.has_bias ? 4 : 3;
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Node scores,
      b.Scores(in.q, in.k, a.has_bias ? std::optional<size_t>(3) : std::nullopt, lengths));
  const auto softmax = b.Normalise(scores);
  return FinishForward(call, b.x(), b.Product(softmax.weights, 3, in.v, 2), softmax);
}

// On f8: operands q, k, v, then scalars: descale of q, k, v, s, scale of s, o. Results: the output,
// the largest magnitudes of weights and output, statistics.
Result<ModulePtr> ExpandCudnnAttentionF8(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Configured config, ReadConfig(call, 9));
  HLOSCOPE_ASSIGN_OR_RETURN(const Attention a, ReadAttention(call, config.section()));
  const auto elements = call.shape().elements();
  if (elements.size() < 4) return Invalid(call, "results are missing");
  AttentionBuilder b(call, a);
  Expansion& x = b.x();
  HLOSCOPE_ASSIGN_OR_RETURN(const auto in, ArrangeForward(call, config.section(), b));
  std::vector<Node> scales;
  for (size_t i = 3; i < 9; ++i) {
    if (ElementCount(call.operand_shape(i)) != 1) {
      return Invalid(call, "its scales are not scalars");
    }
    scales.push_back(x.Reshape(b.Wide(i), {}));
  }
  auto times = [&](Node value, Node scale) { return x.Binary(Opcode::kMultiply, value, scale); };
  HLOSCOPE_ASSIGN_OR_RETURN(const Node scores,
                            b.Scores(times(in.q, scales[0]), times(in.k, scales[1]), {}, {}));
  const auto softmax = b.Normalise(scores);
  const ElementType narrow = call.operand_shape(0).element_type();
  const Node weights =
      x.Convert(SaturatingConvert(x, times(softmax.weights, scales[4]), narrow), kWide);
  const Node output = times(times(b.Product(weights, 3, in.v, 2), scales[3]), scales[2]);
  std::vector<Node> results = {
      SaturatingConvert(x, times(output, scales[5]), elements[0].element_type())};
  for (const Node value : {softmax.weights, output}) {
    const Shape& place = elements[results.size()];
    results.push_back(
        x.Reshape(x.Convert(Magnitude(x, value), place.element_type()), Dimensions(place)));
  }
  if (elements.size() > 4) {
    results.push_back(x.Convert(softmax.statistics, elements[3].element_type()));
  }
  return x.Build(results);
}

namespace {

struct BackwardOperands {
  Node q, k, v, output_gradient, output;
  int64_t key_heads = 0;
};

Result<BackwardOperands> ArrangeBackward(const CallSite& call, const CallConfig& config,
                                         AttentionBuilder& b, size_t output) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Side q_side,
                            SideOf(call, config, "bmm1_grad_gemm1_dot_dimension_numbers", "rhs"));
  HLOSCOPE_ASSIGN_OR_RETURN(const Side k_side,
                            SideOf(call, config, "bmm1_grad_gemm2_dot_dimension_numbers", "rhs"));
  HLOSCOPE_ASSIGN_OR_RETURN(const Side o_side,
                            SideOf(call, config, "bmm2_grad_gemm1_dot_dimension_numbers", "rhs"));
  HLOSCOPE_ASSIGN_OR_RETURN(const Side v_side,
                            SideOf(call, config, "bmm2_grad_gemm2_dot_dimension_numbers", "rhs"));
  BackwardOperands in;
  HLOSCOPE_ASSIGN_OR_RETURN(in.q, b.Arrange(0, q_side, false));
  HLOSCOPE_ASSIGN_OR_RETURN(in.k, b.Arrange(1, k_side, false));
  HLOSCOPE_ASSIGN_OR_RETURN(in.v, b.Arrange(2, v_side, true));
  HLOSCOPE_ASSIGN_OR_RETURN(in.output_gradient, b.Arrange(4, o_side, false));
  HLOSCOPE_ASSIGN_OR_RETURN(in.output, b.Arrange(output, o_side, false));
  const Shape queries = b.x().ShapeOf(in.q), keys = b.x().ShapeOf(in.k);
  const Shape gradient = b.x().ShapeOf(in.output_gradient), values = b.x().ShapeOf(in.v);
  in.key_heads = keys.dimension(1);
  const bool fits =
      std::ranges::equal(gradient.dimensions().first(3), queries.dimensions().first(3)) &&
      std::ranges::equal(values.dimensions().first(3), keys.dimensions().first(3)) &&
      std::ranges::equal(gradient.dimensions(), b.x().ShapeOf(in.output).dimensions()) &&
      gradient.dimension(3) == values.dimension(3);
  if (!fits) return Invalid(call, "its operands have incompatible shapes");
  HLOSCOPE_ASSIGN_OR_RETURN(in.k, b.Repeat(in.k, queries.dimension(1)));
  HLOSCOPE_ASSIGN_OR_RETURN(in.v, b.Repeat(in.v, queries.dimension(1)));
  return in;
}

}  // namespace

// Operands q, k, v, statistics, output gradient, bias, output, lengths; results the gradients of q,
// k, v and bias. With p the weights, dp = do·vᵀ and d the row sums of do∘o: ds = p∘(dp − d).
Result<ModulePtr> ExpandCudnnAttentionBackward(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Configured config, ReadConfig(call, 6));
  HLOSCOPE_ASSIGN_OR_RETURN(const Attention a, ReadAttention(call, config.section()));
  const auto elements = call.shape().elements();
  if (elements.size() < 3) return Invalid(call, "results are missing");
  AttentionBuilder b(call, a);
  Expansion& x = b.x();
  const size_t output = a.has_bias ? 6 : 5;
  HLOSCOPE_ASSIGN_OR_RETURN(const auto in, ArrangeBackward(call, config.section(), b, output));
  HLOSCOPE_ASSIGN_OR_RETURN(
      const Node scores,
      b.Scores(in.q, in.k, a.has_bias ? std::optional<size_t>(5) : std::nullopt, output + 1));
  const Shape& statistics = call.operand_shape(3);
  const Shape rows = x.ShapeOf(scores);
  if (!std::ranges::equal(statistics.dimensions(), rows.dimensions().first(3))) {
    return Invalid(call, "its statistics are not one number per row");
  }
  const Node weights =
      x.Unary(Opcode::kExp, x.Binary(Opcode::kSubtract, scores, b.AlongRows(b.Wide(3), scores)));
  // A row that sees nothing has statistics of −∞.
  const Node visible = x.Compare(ComparisonDirection::kGt, scores,
                                 x.Constant(kWide, -std::numeric_limits<double>::infinity()));
  const Node p = x.Select(visible, weights, x.Constant(kWide, 0));
  const Node d =
      x.Reduce(Opcode::kAdd, x.Binary(Opcode::kMultiply, in.output_gradient, in.output), 0, {3});
  const Node dp = b.Product(in.output_gradient, 3, in.v, 3);
  const Node ds =
      x.Binary(Opcode::kMultiply, p, x.Binary(Opcode::kSubtract, dp, b.AlongRows(d, scores)));
  const Node scaled = x.Binary(Opcode::kMultiply, ds, a.scale);
  const Node gradients[] = {b.Product(scaled, 3, in.k, 2),
                            b.SumRepeated(b.Product(scaled, 2, in.q, 2), in.key_heads),
                            b.SumRepeated(b.Product(p, 2, in.output_gradient, 2), in.key_heads)};
  std::vector<Node> results;
  for (const Node gradient : gradients) {
    results.push_back(x.Convert(gradient, elements[results.size()].element_type()));
  }
  if (a.has_bias && elements.size() > 4) {
    results.push_back(
        x.Convert(b.BiasGradient(ds, call.operand_shape(5)), elements[3].element_type()));
  }
  return x.Build(results);
}

}  // namespace hloscope::hlo::expand
