// Types by their text: element type, dimensions, weak type, in this order.
#include "core/debug/recompile/type_change.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "core/base/strings.h"
#include "core/debug/recompile/compile_log.h"
#include "core/debug/recompile/log_line.h"

namespace hloscope::debug {
namespace {

std::string_view ElementType(std::string_view type) { return Before(type, "["); }
std::string_view Dimensions(std::string_view type) {
  return Before(type.substr(ElementType(type).size()), "]");
}
bool IsWeak(std::string_view type) { return type.find("weak_type=True") != std::string_view::npos; }

std::vector<std::string_view> Split(std::string_view dimensions) {
  if (dimensions.starts_with('[')) dimensions.remove_prefix(1);
  return dimensions.empty() ? std::vector<std::string_view>() : StrSplit(dimensions, ',');
}

// "dimension 0 from 8 to 9" where one dimension alone differs.
std::string OneDimension(std::string_view from, std::string_view to) {
  const auto a = Split(Dimensions(from)), b = Split(Dimensions(to));
  if (a.size() != b.size()) return {};
  std::optional<size_t> at;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    if (at) return {};
    at = k;
  }
  return at ? fmt::format("dimension {} from {} to {}", *at, a[*at], b[*at]) : std::string();
}

// "CpuDevice(id=1)" of a sharding on one device.
std::string DeviceOf(std::string_view mapping) {
  if (mapping == "UnspecifiedValue") return "the default device";
  const auto device = Behind(mapping, "SingleDeviceSharding(device=");
  if (!device) return {};
  const size_t end = device->find(')');
  return std::string(device->substr(0, end == std::string_view::npos ? end : end + 1));
}

// "P('a',)" of a NamedSharding.
std::string SpecOf(std::string_view mapping) {
  const auto spec = Behind(mapping, "spec=");
  return spec ? std::string(Before(*spec, ", memory_kind=")) : std::string();
}

}  // namespace

RecompileCause CauseOfTypes(std::string argument, std::string_view from, std::string_view to) {
  RecompileCause cause{RecompileReason::kSharding, std::move(argument), HloTypeText(from),
                       HloTypeText(to), ""};
  const std::string_view a = cause.from, b = cause.to;
  // Types of arrays on explicit meshes name axes: f32[8@x].
  const bool meshes =
      a.find('@') != std::string_view::npos || b.find('@') != std::string_view::npos;
  if (ElementType(a) != ElementType(b)) {
    cause.reason = RecompileReason::kElementType;
  } else if (Dimensions(a) != Dimensions(b) && !meshes) {
    cause.reason = RecompileReason::kShape;
    cause.detail = OneDimension(a, b);
  } else if (IsWeak(a) != IsWeak(b)) {
    cause.reason = RecompileReason::kWeakType;
  }
  return cause;
}

RecompileCause CauseOfMapping(std::string argument, std::string_view from, std::string_view to) {
  const std::string a = DeviceOf(from), b = DeviceOf(to);
  if (!a.empty() && !b.empty()) return {RecompileReason::kDevice, std::move(argument), a, b, ""};
  const std::string p = SpecOf(from), q = SpecOf(to);
  if (!p.empty() && !q.empty() && p != q)
    return {RecompileReason::kSharding, std::move(argument), p, q, ""};
  return {RecompileReason::kSharding, std::move(argument), a.empty() ? std::string(from) : a,
          b.empty() ? std::string(to) : b, ""};
}

}  // namespace hloscope::debug
