// Attribute values in a canonical text: defaults empty, small iota device lists written out.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "core/analysis/align/canonical_json.h"
#include "core/analysis/align/fingerprint.h"
#include "core/analysis/denormals.h"
#include "core/base/checked.h"
#include "core/base/quick_hash.h"
#include "core/hlo/comparison.h"
#include "core/hlo/string_pool.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::analysis {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::Instruction;
using hlo::Module;
using hlo::ValueKind;

constexpr int64_t kExpandedDevices = 1 << 20;  // longer iota lists are compared as they are written
constexpr int64_t kSmallConstant = 10;         // XLA's text elides larger ones

void AppendInts(std::string& out, std::span<const int64_t> values) {
  for (int64_t v : values) out += fmt::format("{},", v);
  out += ';';
}

// The device ids of an iota tile in order; nullopt where there are too many.
std::optional<std::vector<int64_t>> Expand(const hlo::IotaTile& iota) {
  std::optional<int64_t> count = CheckedProduct(iota.reshape_dims);
  if (!count || *count > kExpandedDevices) return std::nullopt;
  size_t rank = iota.reshape_dims.size();
  std::vector<int64_t> strides(rank, 1), order(rank), index(rank, 0), devices;
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * iota.reshape_dims[d];
  std::iota(order.begin(), order.end(), 0);
  if (iota.transpose.size() == rank) order = iota.transpose;
  auto outside = [&](int64_t d) { return d < 0 || d >= static_cast<int64_t>(rank); };
  if (std::ranges::any_of(order, outside)) return std::nullopt;
  devices.reserve(static_cast<size_t>(*count));
  for (int64_t k = 0; k < *count; ++k) {
    int64_t device = 0;
    for (size_t d = 0; d < rank; ++d) device += index[d] * strides[static_cast<size_t>(order[d])];
    devices.push_back(device);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < iota.reshape_dims[static_cast<size_t>(order[d])]) break;
      index[d] = 0;
    }
  }
  return devices;
}

// Whether every device has the whole array, however that is written: `{mesh[], [{}]}` is
// `{replicated}`, and so are tiles of 1.
bool IsReplicated(const hlo::Sharding& sharding) {
  if (sharding.kind == hlo::ShardingKind::kNamed) {
    return !sharding.mesh.maximal && sharding.unreduced_axes.empty() &&
           sharding.manual_axes.empty() &&
           std::ranges::all_of(sharding.dimensions, [](const hlo::DimensionSharding& dimension) {
             return dimension.axes.empty() && dimension.is_closed;
           });
  }
  const std::vector<int64_t>& tiles = sharding.tiles.dimensions;
  return sharding.kind == hlo::ShardingKind::kTiled && sharding.replicate_on_last_tile_dim &&
         sharding.last_tile_dims.empty() && !tiles.empty() &&
         std::all_of(tiles.begin(), tiles.end() - 1, [](int64_t tile) { return tile == 1; });
}

hlo::Sharding Canonical(hlo::Sharding sharding) {
  for (hlo::Sharding& element : sharding.elements) element = Canonical(std::move(element));
  sharding.metadata.clear();
  if (IsReplicated(sharding)) {
    hlo::Sharding replicated;
    replicated.shard_as = sharding.shard_as;
    replicated.shard_like = sharding.shard_like;
    return replicated;
  }
  if (!sharding.tiles.iota) return sharding;
  if (auto devices = Expand(*sharding.tiles.iota)) {
    sharding.tiles.devices = *std::move(devices);
    sharding.tiles.iota.reset();
  }
  return sharding;
}

hlo::DeviceList Canonical(hlo::DeviceList list) {
  if (list.form != hlo::DeviceList::Form::kIota || list.group_size <= 0) return list;
  auto devices = Expand(list.iota);
  if (!devices) return list;
  hlo::DeviceList groups;
  auto size = static_cast<size_t>(list.group_size);
  for (size_t k = 0; k < devices->size(); k += size) {
    auto begin = devices->begin() + static_cast<ptrdiff_t>(k);
    auto end = devices->begin() + static_cast<ptrdiff_t>(std::min(devices->size(), k + size));
    groups.groups.emplace_back(begin, end);
  }
  return groups;
}

std::string LiteralKey(const hlo::Literal& literal) {
  std::string out = hlo::ToString(literal.shape(), false);
  std::optional<int64_t> count = literal.shape().ElementCount();
  bool small = literal.shape().IsArray() && count && *count <= kSmallConstant;
  if (!small || literal.elided()) return out;
  const hlo::Literal value = FlushDenormals(literal);
  out += '=';
  out.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
  return out;
}

std::string WindowKey(const hlo::Window& window) {
  std::string out;
  for (const hlo::WindowDimension& d : window.dimensions) {
    out += fmt::format("{},{},{},{},{},{},{};", d.size, d.stride, d.padding_low, d.padding_high,
                       d.window_dilation, d.base_dilation, d.window_reversal);
  }
  return out;
}

std::string DimLabelsKey(const hlo::ConvolutionDims& d) {
  std::string out =
      fmt::format("{},{},{},{},{},{};", d.input_batch, d.input_feature, d.kernel_input_feature,
                  d.kernel_output_feature, d.output_batch, d.output_feature);
  for (const auto* list : {&d.input_spatial, &d.kernel_spatial, &d.output_spatial})
    AppendInts(out, *list);
  return out;
}

std::string FrontendKey(const Module& module, const hlo::FrontendAttributes& attributes) {
  std::vector<std::string> entries;
  entries.reserve(attributes.entries.size());
  for (const hlo::FrontendAttribute& e : attributes.entries) {
    entries.push_back(fmt::format("{}={};", module[e.key], module[e.value]));
  }
  std::ranges::sort(entries);
  return fmt::format("{}", fmt::join(entries, ""));
}

std::string AliasingKey(const hlo::OutputOperandAliasing& aliasing) {
  std::string out;
  for (const hlo::OutputOperandAlias& a : aliasing.entries) {
    AppendInts(out, a.output_index);
    out += fmt::format("{}:", a.operand);
    AppendInts(out, a.operand_index);
  }
  return out;
}

std::string AccuracyKey(const hlo::ResultAccuracy& accuracy) {
  if (accuracy.mode == hlo::ResultAccuracy::Mode::kDefault) return "";
  return fmt::format("{},{},{},{}", static_cast<int>(accuracy.mode), accuracy.atol, accuracy.rtol,
                     accuracy.ulps);
}

// Dumps sort the keys of JSON in text but not in protos. Anything else is compared as it is.
std::string BackendConfigKey(std::string_view text) {
  if (!text.starts_with('{')) return std::string(text);
  return CanonicalJson(text).value_or(std::string(text));
}

// The value an absent integer attribute stands for.
int64_t DefaultInt(AttributeKey key) {
  return key == AttributeKey::kFeatureGroupCount || key == AttributeKey::kBatchGroupCount ? 1 : 0;
}

// Protos do not tell false from absent.
bool DefaultBool(hlo::Opcode opcode, AttributeKey key) {
  return opcode == hlo::Opcode::kTopK && key == AttributeKey::kLargest;
}

// The comparison type XLA assumes: by the element type of the operands.
int64_t DefaultComparison(const Module& module, const Instruction& i) {
  if (i.operand_count == 0) return 0;
  hlo::ElementType type = module.shape(module.operands(i)[0]).element_type();
  return static_cast<int64_t>(hlo::DefaultComparisonType(type));
}

std::string ScalarKey(const Module& module, const Instruction& i, const Attribute& a) {
  switch (hlo::Info(a.key).kind) {
    case ValueKind::kBool:
      return (a.value != 0) == DefaultBool(i.opcode, a.key) ? "" : fmt::format("{}", a.value);
    case ValueKind::kInt:
      return module.IntOf(a) == DefaultInt(a.key) ? "" : fmt::format("{}", module.IntOf(a));
    case ValueKind::kFloat:
      return fmt::format("{}", module.FloatOf(a));
    case ValueKind::kEnum: {
      int64_t absent = a.key == AttributeKey::kComparisonType ? DefaultComparison(module, i) : 0;
      return a.value == absent ? "" : fmt::format("{}", a.value);
    }
    default:
      return std::string(module[hlo::StringId(a.value)]);
  }
}

std::string ListKey(const Module& module, const Attribute& a) {
  std::string out;
  auto values = module.IntsOf(a);
  bool enums = hlo::Info(a.key).kind == ValueKind::kEnums;
  bool absent =
      values.empty() || (enums && std::ranges::all_of(values, [](int64_t v) { return v == 0; }));
  if (!absent) AppendInts(out, values);
  return out;
}

// The shape of an outfeed is that of its operand, said or not.
std::string ShapeKey(const Module& module, const Instruction& i, const hlo::Shape& shape) {
  std::string text = hlo::ToString(shape.WithDefaultLayouts());
  if (i.operand_count == 0) return text;
  const hlo::Shape& operand = module.shape(module.operands(i)[0]);
  return text == hlo::ToString(operand.WithDefaultLayouts()) ? "" : text;
}

}  // namespace

uint64_t LiteralHash(const hlo::Literal& literal, bool exact) {
  uint64_t h = hlo::HashBytes(hlo::ToString(literal.shape(), false));
  if (literal.shape().IsTuple()) {
    for (const hlo::Literal& element : literal.elements())
      h = MixKeys(h, LiteralHash(element, exact));
    return h;
  }
  if (literal.elided()) return h;
  const hlo::Literal value = exact ? literal : FlushDenormals(literal);
  const auto bytes = value.bytes();
  return MixKeys(h, hlo::HashBytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

std::string AttributeKeyText(const Module& module, const Instruction& i, const Attribute& a) {
  std::string out;
  switch (hlo::Info(a.key).kind) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kFloat:
    case ValueKind::kEnum:
    case ValueKind::kString:
      return ScalarKey(module, i, a);
    case ValueKind::kInts:
      // A map is over all dimensions, said or not.
      if (i.opcode == hlo::Opcode::kMap && a.key == AttributeKey::kDimensions) return "";
      return ListKey(module, a);
    case ValueKind::kBools:
    case ValueKind::kEnums:
    case ValueKind::kPairs:
    case ValueKind::kPadding:
    case ValueKind::kSlices:
      return ListKey(module, a);
    case ValueKind::kShape:
      return ShapeKey(module, i, module[hlo::ShapeId(a.value)]);
    case ValueKind::kShapes:
      for (uint32_t id : module.IdsOf(a))
        out += hlo::ToString(module[hlo::ShapeId(id)].WithDefaultLayouts()) + ";";
      return out;
    case ValueKind::kLiteral:
      return LiteralKey(module.Of<hlo::Literal>(a));
    case ValueKind::kWindow:
      return WindowKey(module.Of<hlo::Window>(a));
    case ValueKind::kDimLabels:
      return DimLabelsKey(module.Of<hlo::ConvolutionDims>(a));
    case ValueKind::kDeviceList:
      hlo::AppendDeviceList(out, Canonical(module.Of<hlo::DeviceList>(a)));
      return out == "{}" ? "" : out;
    case ValueKind::kSharding:
      hlo::AppendSharding(out, Canonical(module.Of<hlo::Sharding>(a)), false);
      return out;
    case ValueKind::kDomain:
      hlo::AppendSharding(out, Canonical(module.Of<hlo::Domain>(a).entry), false);
      hlo::AppendSharding(out, Canonical(module.Of<hlo::Domain>(a).exit), false);
      return out;
    case ValueKind::kFrontendAttributes:
      return FrontendKey(module, module.Of<hlo::FrontendAttributes>(a));
    case ValueKind::kAliasing:
      return AliasingKey(module.Of<hlo::OutputOperandAliasing>(a));
    case ValueKind::kResultAccuracy:
      return AccuracyKey(module.Of<hlo::ResultAccuracy>(a));
    case ValueKind::kBackendConfig:
      return BackendConfigKey(module[module.Of<hlo::BackendConfig>(a).text]);
    case ValueKind::kRaw:
      return std::string(module[module.Of<hlo::RawAttribute>(a).text]);
    // Order, names and history of the module; and called computations, which are hashed on their
    // own.
    case ValueKind::kStatistics:
    case ValueKind::kOriginalValue:
    case ValueKind::kMetadata:
    case ValueKind::kInstructions:
    case ValueKind::kComputation:
    case ValueKind::kComputations:
      return "";
  }
  return out;
}

}  // namespace hloscope::analysis
