// Marks of verdicts: a colour and a shape, the same in lists, curves, graphs and legends.
#pragma once

#include <string_view>

#include "viewer/model/verdict_table.h"
#include "viewer/widgets/view.h"

struct ImDrawList;
struct ImVec2;

namespace hloscope::viewer {

void DrawVerdictMark(ImDrawList& list, ImVec2 middle, float radius, const Theme& theme,
                     Verdict verdict);
// The mark and its words, in the line at hand; what they mean as a tooltip.
void VerdictLabel(Frame& frame, Verdict verdict);
float VerdictLabelWidth(Frame& frame, std::string_view words);

}  // namespace hloscope::viewer
