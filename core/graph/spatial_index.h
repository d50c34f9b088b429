// Which boxes and wires of a picture lie in a part of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/graph/picture.h"

namespace hloscope::graph {

struct Area {
  float left = 0, top = 0, right = 0, bottom = 0;
  bool Meets(const Area& other) const {
    return left <= other.right && other.left <= right && top <= other.bottom && other.top <= bottom;
  }
};

inline Area AreaOf(const Box& box) { return {box.x, box.y, box.x + box.width, box.y + box.height}; }

class SpatialIndex {
 public:
  SpatialIndex() = default;
  explicit SpatialIndex(const Picture& picture);

  // Calls visit(index of a box or wire) for each that meets `area`, in no order.
  template <typename Visit>
  void ForEachBox(const Area& area, Visit visit) const {
    ForEach(box_chunks_, boxes_, box_areas_, area, visit);
  }
  template <typename Visit>
  void ForEachWire(const Area& area, Visit visit) const {
    ForEach(wire_chunks_, wires_, wire_areas_, area, visit);
  }
  // Wires that begin or end at a box.
  std::vector<uint32_t> WiresAt(NodeId node) const;

 private:
  struct Chunk {
    Area area;
    uint32_t begin = 0, end = 0;
  };
  static void Build(const std::vector<Area>& areas, std::vector<uint32_t>& order,
                    std::vector<Chunk>& chunks);
  template <typename Visit>
  static void ForEach(const std::vector<Chunk>& chunks, const std::vector<uint32_t>& order,
                      const std::vector<Area>& areas, const Area& area, Visit visit) {
    for (const Chunk& chunk : chunks) {
      if (!chunk.area.Meets(area)) continue;
      for (uint32_t k = chunk.begin; k < chunk.end; ++k) {
        if (areas[order[k]].Meets(area)) visit(order[k]);
      }
    }
  }

  std::vector<Area> box_areas_, wire_areas_;
  std::vector<uint32_t> boxes_, wires_;
  std::vector<Chunk> box_chunks_, wire_chunks_;
  std::vector<std::pair<uint32_t, uint32_t>> ends_;  // node, wire; sorted
};

}  // namespace hloscope::graph
