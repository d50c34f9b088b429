// Heat: one measure of the compiled module, by instruction, on one scale: for the graph, its rows,
// the passes, the source and the memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/kernel_map.h"
#include "core/hlo/module.h"
#include "viewer/model/context.h"
#include "viewer/model/heat_choice.h"

namespace hloscope::viewer {

struct HeatRow {
  HeatMeasure measure;
  std::string_view id, title, help;
};
std::span<const HeatRow> HeatRows();
const HeatRow& HeatRowOf(HeatMeasure measure);

// What the user chose; until then the measured time, where a profile is open.
HeatMeasure MeasureInView(const Context& context);
void ChooseHeat(Context& context, HeatMeasure measure);

struct HeatFacts {
  HeatMeasure measure = HeatMeasure::kOff;
  int32_t module = -1, stage = -1;
  std::shared_ptr<const hlo::Module> of;  // that stage; null: cannot be read
  // By its instructions: of kernels, of values at the peak, or of what was compared; else 0. Bytes,
  // operations, picoseconds, or an error, which may be infinite.
  std::vector<double> values;
  double most = 0, sum = 0;                 // of an error no sum
  std::vector<hlo::InstructionId> hottest;  // at most kMaxHottest, most first
  std::vector<std::string> notes;           // what is not counted
  std::string missing;                      // why nothing is hot; empty: something is

  static constexpr size_t kMaxHottest = 10;
  double Of(hlo::InstructionId id) const {
    return id.valid() && id.index < values.size() ? values[id.index] : 0;
  }
  /// Its place on the scale, 0 to 1: linear up to the hottest, of errors by powers of ten.
  double PlaceOf(double value) const;
  /// The value at a place of the scale.
  double ValueAt(double place) const;
  /// "1.25 ms", "4.2 MB", "1.2e+09", "3e-05".
  std::string ToText(double value) const;
  /// "13 % of the time"; empty of errors.
  std::string ShareText(double value) const;
};

/// Of the module in view; null: heat is off, or it is being found.
std::shared_ptr<const HeatFacts> HeatInView(Context& context);
std::shared_ptr<const HeatFacts> HeatFactsOf(Context& context, HeatMeasure measure);

}  // namespace hloscope::viewer
