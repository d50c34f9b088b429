// collective-permute: pairs of devices, and the operands of its in-place form.
#include <algorithm>

#include "core/base/counted.h"
#include "core/hlo/verify/verify_collectives.h"

namespace hloscope::hlo {
namespace {

using std::to_string;

// Offsets of an in-place permute: one index per dimension of the buffer, or several such.
bool OffsetFits(const Shape& buffer, const Shape& offset) {
  if (!offset.IsTuple()) return false;
  auto elements = offset.elements();
  auto all = [&](auto&& test) { return std::all_of(elements.begin(), elements.end(), test); };
  if (all([](const Shape& s) { return s.IsArray(); })) return elements.size() == buffer.rank();
  return all([&](const Shape& s) { return s.IsTuple() && s.elements().size() == buffer.rank(); });
}

bool OffsetsFit(const Shape& buffer, const Shape& offset) {
  if (!buffer.IsTuple()) return OffsetFits(buffer, offset);
  if (!offset.IsTuple() || offset.elements().size() != buffer.elements().size()) return false;
  for (size_t e = 0; e < buffer.elements().size(); ++e) {
    if (!OffsetFits(buffer.elements()[e], offset.elements()[e])) return false;
  }
  return true;
}

// How often a device may be source or target; 0 and a finding where operands do not fit.
int64_t AllowedMentions(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  auto operands = module.operands(id);
  const Attribute* sizes = module.Find(id, AttributeKey::kSliceSizes);
  bool in_place = sizes != nullptr || module.GetBool(module[id], AttributeKey::kInplace) ||
                  (operands.size() == 4 && module.shape(operands[2]).IsTuple());
  if (!in_place) return 1;
  if (operands.size() != 4) {
    ReportDevices(context, id, true, "operand-count",
                  "has " + Counted(operands.size(), "operand") + ", expected 1 or 4");
    return 0;
  }
  const Shape& input = module.shape(operands[0]);
  const Shape& output = module.shape(operands[1]);
  const Shape& offsets = module.shape(operands[2]);
  bool fits = input.IsTuple() == output.IsTuple() &&
              (!input.IsTuple() || input.elements().size() == output.elements().size()) &&
              OffsetsFit(input, offsets) && OffsetsFit(output, module.shape(operands[3]));
  if (!fits) {
    ReportDevices(context, id, true, "collective-permute",
                  "has offsets that do not fit its buffers " + context.Text(input) + " and " +
                      context.Text(output));
    return 0;
  }
  if (!input.IsTuple()) {
    bool grouped = !offsets.elements().empty() && offsets.elements()[0].IsTuple();
    return grouped ? static_cast<int64_t>(offsets.elements().size())
                   : std::max<int64_t>(1, static_cast<int64_t>(offsets.elements().size()));
  }
  if (offsets.elements().empty()) return 1;
  return std::max<int64_t>(1, static_cast<int64_t>(offsets.elements()[0].elements().size()));
}

std::string_view SideName(size_t side) { return side == 0 ? "source " : "target "; }

// The devices of one side, sorted.
std::vector<int64_t> DevicesOf(std::span<const int64_t> pairs, size_t side) {
  std::vector<int64_t> devices;
  for (size_t p = side; p < pairs.size(); p += 2) devices.push_back(pairs[p]);
  std::sort(devices.begin(), devices.end());
  return devices;
}

bool CheckMentions(VerifyContext& context, InstructionId id, std::span<const int64_t> pairs,
                   size_t side, int64_t allowed) {
  std::vector<int64_t> devices = DevicesOf(pairs, side);
  std::string what = "has the " + std::string(SideName(side));
  if (!devices.empty() && devices.front() < 0) {
    ReportDevices(context, id, true, "source-target-pairs",
                  what + to_string(devices.front()) + ", which is negative");
    return false;
  }
  auto repeats = static_cast<size_t>(allowed);
  for (size_t d = 0; d + repeats < devices.size(); ++d) {
    if (devices[d] != devices[d + repeats]) continue;
    ReportDevices(context, id, true, "source-target-pairs",
                  what + to_string(devices[d]) + " more than " + Counted(allowed, "time"));
    return false;
  }
  return true;
}

bool CheckLimit(VerifyContext& context, InstructionId id, std::span<const int64_t> pairs,
                size_t side, int64_t limit) {
  std::vector<int64_t> devices = DevicesOf(pairs, side);
  if (devices.empty() || devices.back() < limit) return true;
  ReportDevices(context, id, limit != 1, "source-target-pairs",
                "has the " + std::string(SideName(side)) + to_string(devices.back()) +
                    ", but the module has " + Counted(limit, "device"));
  return false;
}

}  // namespace

void VerifyPermute(VerifyContext& context, InstructionId id, int64_t devices) {
  int64_t allowed = AllowedMentions(context, id);
  if (allowed == 0) return;
  auto pairs = context.module().GetInts(context.module()[id], AttributeKey::kSourceTargetPairs);
  for (size_t side = 0; side < 2; ++side) {
    if (!CheckMentions(context, id, pairs, side, allowed)) return;
  }
  for (size_t side = 0; side < 2; ++side) {
    if (!CheckLimit(context, id, pairs, side, devices)) return;
  }
}

}  // namespace hloscope::hlo
