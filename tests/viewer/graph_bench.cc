// Times of layouts, and layouts as JSON for tests/viewer/layout_quality.py.
//   graph_bench random NODES EDGES          a made-up graph, laid out
//   graph_bench flat MODULE [COMPUTATION]   a computation (the entry) without groups, laid out
//   graph_bench json MODULE COMPUTATION [SPAN]  the same as JSON: sizes, edges and drawn lines;
//   where SPAN is given, edges
//                                           over more rows become jumps
//   graph_bench fit WIDTH HEIGHT MODULE…    how large boxes are where the closed graph of each
//   module
//                                           fits a pane of that many pixels
//   graph_bench measure                     reads `from to x y x y …`, a drawn edge a line, and
//   prints how often
//                                           edges without a common end cross, and how long all are
//                                           together
#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "core/base/json.h"
#include "core/dump/load.h"
#include "core/graph/layout.h"
#include "core/graph/picture.h"

namespace hloscope::graph {
namespace {

struct Flat {
  std::vector<FlatNode> nodes;
  std::vector<FlatEdge> edges;
};

Flat RandomGraph(uint32_t nodes, uint32_t edges) {
  std::mt19937 random(1);
  Flat flat;
  flat.nodes.assign(nodes, {120, 40});
  for (uint32_t e = 0; e < edges; ++e) {
    auto to = 1 + static_cast<uint32_t>(random() % (nodes - 1));
    uint32_t back = 1 + static_cast<uint32_t>(random() % std::min<uint32_t>(to, 300));
    flat.edges.push_back({to - back, to});
  }
  return flat;
}

Flat FromComputation(const hlo::Module& module, hlo::ComputationId id) {
  Flat flat;
  const hlo::Computation& c = module[id];
  flat.nodes.assign(c.instruction_count, {120, 40});
  for (uint32_t k = 0; k < c.instruction_count; ++k) {
    auto operands = module.operands(hlo::InstructionId(c.first_instruction + k));
    for (size_t o = 0; o < operands.size(); ++o) {
      bool again = false;
      for (size_t p = 0; p < o; ++p) again |= operands[p] == operands[o];
      if (!again) flat.edges.push_back({operands[o].index - c.first_instruction, k});
    }
  }
  return flat;
}

// Of this thread: what else runs on the machine does not count.
double CpuMilliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void Time(const Flat& flat) {
  LayoutOptions options;
  for (int run = 0; run < 3; ++run) {
    const double start = CpuMilliseconds();
    Arrangement arrangement = Arrange(flat.nodes, flat.edges, options);
    const double arranged = CpuMilliseconds() - start;
    FlatLayout layout = Place(arrangement, flat.nodes, flat.edges, {}, options);
    size_t jumps = 0;
    for (bool jump : arrangement.jump) jumps += jump ? 1 : 0;
    std::printf(
        "%zu nodes %zu edges: arrange %.1f ms of CPU, all %.1f ms, %zu items, %u rows, %lld "
        "crossings, "
        "%zu jumps, %.0f x %.0f\n",
        flat.nodes.size(), flat.edges.size(), arranged, CpuMilliseconds() - start,
        arrangement.row.size(), arrangement.row_count(),
        static_cast<long long>(arrangement.crossings), jumps, static_cast<double>(layout.width),
        static_cast<double>(layout.height));
  }
}

void PrintJson(const Flat& flat, int max_span) {
  LayoutOptions options;
  if (max_span > 0) {
    options.max_span = max_span;
    options.free_bends = 0;
  }
  Arrangement arrangement = Arrange(flat.nodes, flat.edges, options);
  FlatLayout layout = Place(arrangement, flat.nodes, flat.edges, {}, options);
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Key("nodes").BeginArray();
  for (const Point& p : layout.center) json.BeginArray().Value(p.x).Value(p.y).EndArray();
  json.EndArray().Key("edges").BeginArray();
  for (size_t e = 0; e < flat.edges.size(); ++e) {
    json.BeginArray().Value(flat.edges[e].from).Value(flat.edges[e].to).BeginArray();
    for (uint32_t k = 0; k < layout.point_count[e]; ++k) {
      const Point& p = layout.points[layout.first_point[e] + k];
      json.BeginArray().Value(p.x).Value(p.y).EndArray();
    }
    json.EndArray().EndArray();
  }
  json.EndArray().Field("width", layout.width).Field("height", layout.height).EndObject();
  std::printf("%s\n", out.c_str());
}

struct Line {
  uint32_t from = 0, to = 0;
  std::vector<Point> points;
};

double Side(const Point& a, const Point& b, const Point& c) {
  return static_cast<double>(b.x - a.x) * static_cast<double>(c.y - a.y) -
         static_cast<double>(b.y - a.y) * static_cast<double>(c.x - a.x);
}

bool Cross(const Point& a, const Point& b, const Point& c, const Point& d) {
  return Side(a, b, c) * Side(a, b, d) < 0 && Side(c, d, a) * Side(c, d, b) < 0;
}

// All pieces of all lines by bands of height; each pair of pieces is looked at in the band where
// the lower of their upper ends lies.
int64_t CountDrawnCrossings(const std::vector<Line>& lines) {
  constexpr float kBand = 20;
  struct Piece {
    uint32_t line;
    Point a, b;  // a is the upper end
  };
  std::map<int64_t, std::vector<Piece>> bands;
  auto band = [](float y) { return static_cast<int64_t>(std::floor(y / kBand)); };
  for (uint32_t l = 0; l < lines.size(); ++l) {
    for (size_t k = 0; k + 1 < lines[l].points.size(); ++k) {
      Point a = lines[l].points[k], b = lines[l].points[k + 1];
      if (a.y > b.y) std::swap(a, b);
      for (int64_t y = band(a.y); y <= band(b.y); ++y) bands[y].push_back({l, a, b});
    }
  }
  int64_t count = 0;
  for (const auto& [y, pieces] : bands) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const Piece &p = pieces[i], &q = pieces[j];
        const Line &l = lines[p.line], &m = lines[q.line];
        if (band(std::max(p.a.y, q.a.y)) != y) continue;
        if (l.from == m.from || l.from == m.to || l.to == m.from || l.to == m.to) continue;
        count += Cross(p.a, p.b, q.a, q.b) ? 1 : 0;
      }
    }
  }
  return count;
}

void Measure() {
  std::vector<Line> lines;
  std::string text;
  while (std::getline(std::cin, text)) {
    std::istringstream in(text);
    Line line;
    Point p;
    in >> line.from >> line.to;
    while (in >> p.x >> p.y) line.points.push_back(p);
    lines.push_back(line);
  }
  double length = 0;
  for (const Line& line : lines) {
    for (size_t k = 0; k + 1 < line.points.size(); ++k) {
      length += std::hypot(static_cast<double>(line.points[k + 1].x - line.points[k].x),
                           static_cast<double>(line.points[k + 1].y - line.points[k].y));
    }
  }
  std::printf("%lld %.0f\n", static_cast<long long>(CountDrawnCrossings(lines)), length);
}

// The picture of the entry as it stands when it is opened, fitted to a pane of the window.
bool PrintFit(float width, float height, const char* path) {
  Result<dump::LoadedModule> loaded = dump::LoadModule(path, Limits());
  if (!loaded) return false;
  FoldableGraph graph(Tree(loaded->module, loaded->module->entry_id()), ForPane(width));
  const double start = CpuMilliseconds();
  const Picture& picture = graph.picture();
  const double spent = CpuMilliseconds() - start;
  const float zoom = std::min({(width - 40) / std::max(picture.width, 1.0f),
                               (height - 60) / std::max(picture.height, 1.0f), 1.0f});
  size_t jumps = 0;
  for (const Wire& wire : picture.wires) jumps += wire.jump ? 1 : 0;
  std::printf("%s: %zu boxes, %zu jumps, %.0f x %.0f, zoom %.3f, boxes %.1f px high, %.1f ms\n",
              path, picture.boxes.size(), jumps, static_cast<double>(picture.width),
              static_cast<double>(picture.height), static_cast<double>(zoom),
              static_cast<double>(zoom * picture.node_height), spent);
  return true;
}

int Main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  if (mode == "random" && count == 4) {
    Time(RandomGraph(static_cast<uint32_t>(std::atoi(arguments[2])),
                     static_cast<uint32_t>(std::atoi(arguments[3]))));
    return 0;
  }
  if (mode == "measure") {
    Measure();
    return 0;
  }
  if (mode == "fit" && count > 4) {
    bool all = true;
    for (int k = 4; k < count; ++k) {
      all &= PrintFit(static_cast<float>(std::atof(arguments[2])),
                      static_cast<float>(std::atof(arguments[3])), arguments[k]);
    }
    return all ? 0 : 2;
  }
  if ((mode != "flat" && mode != "json") || count < 3) return 2;
  Result<dump::LoadedModule> loaded = dump::LoadModule(arguments[2], Limits());
  if (!loaded) return 2;
  const hlo::Module& module = *loaded->module;
  hlo::ComputationId id = module.entry_id();
  for (uint32_t c = 0; count > 3 && c < module.computations().size(); ++c) {
    if (module[module.computations()[c].name] == arguments[3]) id = hlo::ComputationId(c);
  }
  const Flat flat = FromComputation(module, id);
  if (mode == "flat") {
    Time(flat);
  } else {
    PrintJson(flat, count > 4 ? std::atoi(arguments[4]) : 0);
  }
  return 0;
}

}  // namespace
}  // namespace hloscope::graph

int main(int count, char** arguments) { return hloscope::graph::Main(count, arguments); }
