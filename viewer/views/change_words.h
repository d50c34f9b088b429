// What is said of a drawing of changes: names, a table, a legend, what is left out of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/align/pass_changes.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/graph/heat_paint.h"
#include "viewer/views/change_canvas.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

// The name of its instruction on that side; empty: there is none.
std::string NameIn(const ChangeDrawing& drawing, graph::Side side, graph::NodeId id);

// A row for each box.
std::string ToCsv(const ChangeDrawing& drawing);

// What occurs, with how often. `heat` may be null.
std::vector<LegendEntry> ChangeLegend(const Theme& theme, const analysis::ChangeCounts& counts,
                                      const HeatPaint* heat);

// In the line of the last item: changes and unchanged instructions that are not drawn.
void DrawWhatIsLeftOut(Frame& frame, const graph::ChangePicture& picture, size_t changes);

// Of changes in program order, at least one: the next after (by > 0) or before `selected`, or the
// first or last where that is invalid.
graph::NodeId NextChange(std::span<const graph::NodeId> changes, graph::NodeId selected, int by);

}  // namespace hloscope::viewer
