// Where the boxes, clusters, lanes and wires of a TensorFlow graph stand, for every picture of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/layout.h"
#include "core/graph/svg_shapes.h"
#include "core/graph/tensorflow/tensorflow_picture.h"

namespace hloscope::graph {

// The colours of what stays outside and of clusters, on white: 0xRRGGBB.
inline constexpr uint32_t kOutsideColor = 0xd9760a, kClusterColor = 0x1566d1;
inline constexpr float kClusterTitle = 26, kClusterPadding = 14, kDeviceHead = 44, kReasonLine = 16;

// Of a text in the fixed-width font, in logical pixels.
float MonoWidth(std::string_view text, float size);

struct TensorFlowPath {
  // A line through them; each piece leaves and arrives upright.
  std::vector<Point> points;
  Point label;  // the middle of its text
};

struct TensorFlowLane {
  float left = 0, width = 0;
  std::string device;
  int64_t nodes = 0;
};

// A box; of an open scope what is in it as well.
struct TensorFlowSpot {
  SvgArea area;
  std::vector<TensorFlowSpot> inside;
  std::vector<TensorFlowPath> wires;
};

// In logical pixels, from (0, 0) on.
struct TensorFlowLayout {
  float width = 0, height = 0;
  std::vector<TensorFlowLane> lanes;
  std::vector<SvgArea> items;                      // by item
  std::vector<std::vector<TensorFlowSpot>> boxes;  // by item and box
  std::vector<TensorFlowPath> wires;               // between items
  std::vector<std::vector<TensorFlowPath>> inner;  // by item and wire in it
};
TensorFlowLayout LayOut(const TensorFlowBoxes& boxes);

}  // namespace hloscope::graph
