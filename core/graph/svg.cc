// SVG of a graph.
#include "core/graph/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <unordered_set>

#include "core/base/text.h"
#include "core/graph/looks.h"

namespace hloscope::graph {
namespace {

constexpr float kMargin = 24, kLegendRow = 26;
constexpr std::string_view kSvgStyle =
    "text{font-family:'JetBrains Mono','DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1a1f26}"
    ".t{font-size:14px}.s{font-size:12px;fill:#566271}.h{font-size:15px;font-weight:bold}"
    ".o{paint-order:stroke;stroke:#fafafa;stroke-width:4px}.j{font-size:10px;fill:#1566d1;paint-"
    "order:stroke;stroke:#fff;stroke-width:3px}.w{fill:"
    "none;stroke:#8792a0}.m{fill:none;stroke:#a3310a}"
    ".b{fill:none;stroke:#8792a0;stroke-dasharray:5 "
    "3}.f{fill:#000;fill-opacity:.025;stroke:#b6bfca}"
    ".d{fill:none;stroke-dasharray:4 3}g:target>*:first-child+*{stroke-width:4}";

class SvgWriter {
 public:
  SvgWriter(FoldableGraph& graph, const SvgOptions& options)
      : graph_(graph),
        tree_(graph.tree()),
        picture_(options.picture != nullptr ? *options.picture : graph.picture()),
        options_(options) {}

  std::string Run() {
    FindPresent();
    FindJumps();
    const float legend = LegendHeight();
    const float width = std::max(picture_.width + 2 * kMargin, 640.0f);
    const float height = picture_.height + 2 * kMargin + legend;
    Add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n",
        width, height, EscapeHtml(options_.heading), kSvgStyle);
    Add("<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 "
        "1L7 4L0 7z\" fill=\"#8792a0\"/></marker></defs>\n");
    Add("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#ffffff\"/>\n", width, height);
    AddLegend(width);
    Add("<g transform=\"translate({:.1f} {:.1f})\">\n", (width - picture_.width) / 2,
        kMargin + legend);
    for (const Box& box : picture_.boxes) {
      if (box.open) AddFrame(box);
    }
    for (const Wire& wire : picture_.wires) AddWire(wire);
    for (const Box& box : picture_.boxes) {
      if (box.open) AddFrameTitle(box);
    }
    for (const Box& box : picture_.boxes) {
      if (!box.open) AddNode(box);
    }
    Add("</g>\n</svg>\n");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  debug::Place PlaceOf(NodeId id) const {
    const Node& node = tree_[id];
    if (options_.placement == nullptr || node.kind != NodeKind::kInstruction)
      return debug::Place::kUndecided;
    return options_.placement->instructions[node.instruction.index].place;
  }
  Role RoleAt(NodeId id) const { return RoleOf(tree_.module()[tree_[id].instruction].opcode); }
  bool IsInstruction(NodeId id) const { return tree_[id].kind == NodeKind::kInstruction; }

  void FindPresent() {
    for (const Box& box : picture_.boxes) {
      if (!IsInstruction(box.node)) continue;
      roles_[static_cast<size_t>(RoleAt(box.node))] = true;
      places_[static_cast<size_t>(PlaceOf(box.node))] = true;
    }
    transfers_.assign(tree_.module().instructions().size(), nullptr);
    if (options_.placement == nullptr) return;
    for (const debug::Transfer& t : options_.placement->transfers)
      transfers_[t.instruction.index] = &t;
  }

  // Where edges lead that are not drawn, by the box they begin or end at.
  void FindJumps() {
    for (const Wire& wire : picture_.wires) {
      if (!wire.jump) continue;
      if (picture_.Find(wire.from) != nullptr) leaving_[wire.from.index].push_back(wire.to);
      if (picture_.Find(wire.to) != nullptr) arriving_[wire.to.index].push_back(wire.from);
    }
  }

  // --- Legend
  struct Item {
    std::string_view text;
    bool role;
    size_t index;
  };
  std::vector<Item> Items() const {
    std::vector<Item> items;
    for (size_t k = 0; k < roles_.size(); ++k) {
      if (roles_[k]) items.push_back({Describe(static_cast<Role>(k)), true, k});
    }
    for (size_t k = 0; k < places_.size() && options_.placement != nullptr; ++k) {
      if (places_[k]) items.push_back({LookOf(static_cast<debug::Place>(k)).text, false, k});
    }
    return items;
  }
  static float ItemWidth(const Item& item) {
    return 34 + static_cast<float>(Columns(item.text)) * kSubtitleSize * kCharacterWidth + 18;
  }
  // Calls visit(item, x, row) for each item in lines of the picture's width.
  template <typename Visit>
  int ForEachItem(float width, Visit visit) const {
    float x = kMargin;
    int row = 0;
    for (const Item& item : Items()) {
      if (x > kMargin && x + ItemWidth(item) > width - kMargin) {
        x = kMargin;
        ++row;
      }
      visit(item, x, row);
      x += ItemWidth(item);
    }
    return row + 1;
  }
  float LegendHeight() const {
    const float width = std::max(picture_.width + 2 * kMargin, 640.0f);
    const int rows = ForEachItem(width, [](const Item&, float, int) {});
    return 30 + static_cast<float>(rows) * kLegendRow + 14;
  }
  void AddLegend(float width) {
    Add("<text class=\"h\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, kMargin + 12,
        EscapeHtml(Elide(options_.heading, static_cast<size_t>((width - 2 * kMargin) / 9.2f))));
    ForEachItem(width, [&](const Item& item, float x, int row) {
      const float y = kMargin + 30 + static_cast<float>(row) * kLegendRow;
      if (item.role) {
        Add("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"5\" height=\"16\" fill=\"#{:06x}\"/>", x + 20,
            y, ColorOf(static_cast<Role>(item.index)));
      } else {
        AddOutline({x, y, 26, 16}, static_cast<debug::Place>(item.index), "#ffffff");
      }
      Add("<text class=\"s\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 34, y + 12, item.text);
    });
  }

  // --- Boxes
  struct Area {
    float x, y, width, height;
  };
  void AddOutline(const Area& a, debug::Place place, std::string_view fill) {
    const PlaceLook& look = LookOf(place);
    const std::string paint = fmt::format("fill=\"{}\" stroke=\"#{:06x}\"", fill, look.color);
    const float r = a.x + a.width, b = a.y + a.height, c = std::min(7.0f, a.height / 4);
    switch (look.outline) {
      case Outline::kHexagon:
        Add("<path d=\"M{:.1f} {:.1f}H{:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}H{:.1f}L{:.1f} {:.1f}z\" "
            "{} "
            "stroke-width=\"2\"/>",
            a.x + c, a.y, r - c, r, (a.y + b) / 2, r - c, b, a.x + c, a.x, (a.y + b) / 2, paint);
        break;
      case Outline::kCutCorners:
        Add("<path d=\"M{0:.1f} {1:.1f}H{2:.1f}L{3:.1f} {4:.1f}V{5:.1f}L{2:.1f} "
            "{6:.1f}H{0:.1f}L{7:.1f} "
            "{5:.1f}V{4:.1f}z\" {8} stroke-width=\"2.5\"/>",
            a.x + c, a.y, r - c, r, a.y + c, b - c, b, a.x, paint);
        break;
      case Outline::kCylinder:
        Add("<path d=\"M{0:.1f} {1:.1f}A{2:.1f} {3:.1f} 0 0 1 {4:.1f} {1:.1f}V{5:.1f}A{2:.1f} "
            "{3:.1f} 0 0 "
            "1 {0:.1f} {5:.1f}z\" {6} stroke-width=\"2\"/><path class=\"w\" "
            "style=\"stroke:#{7:06x}\" d=\"M{0:.1f} {1:.1f}A{2:.1f} {3:.1f} 0 0 0 {4:.1f} "
            "{1:.1f}\"/>",
            a.x, a.y + c / 2, a.width / 2, c / 2, r, b - c / 2, paint, look.color);
        break;
      default:
        AddRectangle(a, look.outline, paint);
    }
    if (look.outline == Outline::kDoubleSides) {
      Add("<path d=\"M{:.1f} {:.1f}V{:.1f}M{:.1f} {:.1f}V{:.1f}\" {}/>", a.x + 3.5f, a.y, b,
          r - 3.5f, a.y, b, paint);
    }
  }
  void AddRectangle(const Area& a, Outline outline, const std::string& paint) {
    const float radius = outline == Outline::kRounded ? a.height / 2.6f : 3;
    const float line = outline == Outline::kRectangle || outline == Outline::kDoubleSides ? 2 : 1;
    Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.0f}\" {} "
        "stroke-width=\"{:.0f}\"{}/>",
        a.x, a.y, a.width, a.height, radius, paint, line,
        outline == Outline::kDashed ? " stroke-dasharray=\"4 3\"" : "");
  }

  void BeginNode(const Box& box) {
    // A group may stand in several lanes: the first has the name that links lead to.
    const std::string id = fmt::format("{}n{}", options_.prefix, box.node.index);
    const bool first = named_.insert(box.node.index).second;
    Add("<g{}><title>{}</title>", first ? fmt::format(" id=\"{}\"", id) : "",
        EscapeHtml(Explain(tree_, box.node, options_.placement)));
  }
  bool Linked(NodeId id) const { return options_.link_to_lines && IsInstruction(id); }

  void AddFrame(const Box& box) {
    BeginNode(box);
    const bool call = IsInstruction(box.node);
    const uint32_t color = call ? LookOf(PlaceOf(box.node)).color : 0xb6bfca;
    Add("<rect class=\"f\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" "
        "style=\"stroke:#{:06x};stroke-width:{}\"/>",
        box.x, box.y, box.width, box.height, color, call ? 2 : 1);
    Add("</g>\n");
  }

  // Above the lines, which it interrupts.
  void AddFrameTitle(const Box& box) {
    NodeText text = TextOf(tree_, box.node);
    std::string line = text.title + (text.subtitle.empty() ? "" : "  " + text.subtitle);
    line = Elide(line, static_cast<size_t>(std::max(60.0f, box.width - 20) / 7.3f));
    if (Linked(box.node)) Add("<a href=\"#i{}\">", tree_[box.node].instruction.index);
    Add("<text class=\"s o\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.x + 9, box.y + 15,
        EscapeHtml(line));
    if (Linked(box.node)) Add("</a>");
    Add("\n");
  }

  void AddNode(const Box& box) {
    BeginNode(box);
    const bool instruction = IsInstruction(box.node);
    const Area area{box.x, box.y, box.width, box.height};
    if (instruction) {
      AddOutline(area, PlaceOf(box.node), "#ffffff");
    } else {
      AddStack(area);
    }
    if (instruction) {
      Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"4\" height=\"{:.1f}\" fill=\"#{:06x}\"/>",
          box.x + 5, box.y + 6, box.height - 12, ColorOf(RoleAt(box.node)));
    }
    if (Linked(box.node)) Add("<a href=\"#i{}\">", tree_[box.node].instruction.index);
    NodeText text = TextOf(tree_, box.node, box.count);
    // Boxes in lanes may be narrower than their texts.
    const float room = box.width - 2 * kNodePadding;
    const auto columns = [&](float size) {
      return static_cast<size_t>(std::max(4.0f, room / (size * kCharacterWidth) + 0.01f));
    };
    text.title = Elide(text.title, columns(kTitleSize));
    text.subtitle = Elide(text.subtitle, columns(kSubtitleSize));
    Add("<text class=\"t\" x=\"{0:.1f}\" y=\"{1:.1f}\">{2}</text><text class=\"s\" x=\"{0:.1f}\" "
        "y=\"{3:.1f}\">{4}</text>",
        box.x + kNodePadding + 2, box.y + 18, EscapeHtml(text.title), box.y + 35,
        EscapeHtml(text.subtitle));
    if (Linked(box.node)) Add("</a>");
    AddChips(box);
    Add("</g>\n");
  }

  // A closed group looks like a pile of sheets.
  void AddStack(const Area& a) {
    for (float shift : {6.0f, 3.0f, 0.0f}) {
      Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" "
          "fill=\"#f6f7f9\" stroke=\"#8792a0\"/>",
          a.x + shift, a.y + shift, a.width - 6, a.height - 6);
    }
  }

  // Labels for edges that are not drawn, and for what is moved to or from the host.
  void AddChips(const Box& box) {
    const auto columns = static_cast<size_t>(box.width / (10 * kCharacterWidth));
    auto at = arriving_.find(box.node.index);
    if (at != arriving_.end()) AddChip(box, "↑ ", at->second, box.y - 4, columns);
    at = leaving_.find(box.node.index);
    if (at != leaving_.end()) AddChip(box, "↓ ", at->second, box.y + box.height + 11, columns);
    if (!IsInstruction(box.node)) return;
    const debug::Transfer* t = transfers_[tree_[box.node].instruction.index];
    if (t == nullptr) return;
    const bool to_host = t->direction == debug::TransferDirection::kToHost;
    Add("<text class=\"j\" style=\"fill:#a3310a;font-weight:bold;text-anchor:end\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{} {}</text>",
        box.x + box.width, box.y - 4, to_host ? "→ host" : "→ device",
        t->bytes < 0 ? "size unknown" : BytesText(t->bytes));
  }
  void AddChip(const Box& box, std::string_view arrow, const std::vector<NodeId>& others, float y,
               size_t columns) {
    std::string more = others.size() > 1 ? fmt::format(" +{}", others.size() - 1) : "";
    const size_t room = columns > more.size() + 6 ? columns - more.size() - 2 : 6;
    std::string name = others[0].valid() ? Elide(tree_.Title(others[0]), room) : "outside";
    if (others[0].valid()) Add("<a href=\"#{}n{}\">", options_.prefix, others[0].index);
    Add("<text class=\"j\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}{}</text>", box.x + 2, y, arrow,
        EscapeHtml(name), more);
    if (others[0].valid()) Add("</a>");
  }

  // --- Wires
  bool Moves(NodeId id) const {
    return id.valid() && IsInstruction(id) && transfers_[tree_[id].instruction.index] != nullptr;
  }
  void AddWire(const Wire& wire) {
    if (wire.point_count < 2) return;
    auto p = std::span(picture_.points).subspan(wire.first_point, wire.point_count);
    const bool moves = Moves(wire.from) || Moves(wire.to);
    // Wider for more bytes: 1 up to 1 kB, 3 from 1 GB on.
    float width = 1;
    for (int64_t b = wire.bytes; b > 1024 && width < 3; b /= 32) width += 0.5f;
    if (moves) width += 1;
    Add("<path class=\"{}\" stroke-width=\"{:.1f}\" d=\"M{:.1f} {:.1f}",
        moves           ? "m"
        : wire.reversed ? "b"
                        : "w",
        width, p[0].x, p[0].y);
    for (size_t k = 1; k < p.size(); ++k) {
      if (p[k].x == p[k - 1].x) {
        Add("V{:.1f}", p[k].y);
        continue;
      }
      const float middle = (p[k].y + p[k - 1].y) / 2;
      Add("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", p[k - 1].x, middle, p[k].x, middle, p[k].x,
          p[k].y);
    }
    Add("\"{}><title>{} → {}{}</title></path>\n",
        picture_.Find(wire.to) != nullptr ? " marker-end=\"url(#a)\"" : "", NameOf(wire.from),
        NameOf(wire.to), wire.bytes > 0 ? ": " + BytesText(wire.bytes) : "");
  }
  std::string NameOf(NodeId id) const {
    return id.valid() ? EscapeHtml(Elide(tree_.Title(id), 60)) : "outside";
  }

  FoldableGraph& graph_;
  const Tree& tree_;
  const Picture& picture_;
  const SvgOptions& options_;
  std::array<bool, kRoleCount> roles_ = {};
  std::array<bool, debug::kPlaceCount> places_ = {};
  std::unordered_map<uint32_t, std::vector<NodeId>> leaving_, arriving_;
  std::unordered_set<uint32_t> named_;
  std::vector<const debug::Transfer*> transfers_;
  std::string out_;
};

}  // namespace

std::string SideBySide(std::span<const std::string> pictures) {
  std::string inside;
  int left = 0, most_height = 0;
  for (const std::string& picture : pictures) {
    int width = 0, height = 0;
    const size_t size = picture.find(" width=");
    if (size == std::string::npos ||
        std::sscanf(picture.c_str() + size, " width=\"%d\" height=\"%d\"", &width, &height) != 2)
      continue;
    inside += picture.substr(0, size) + fmt::format(" x=\"{}\"", left) + picture.substr(size);
    left += width;
    most_height = std::max(most_height, height);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\">\n{2}</svg>\n",
      left, most_height, inside);
}

std::string ToSvg(FoldableGraph& graph, const SvgOptions& options) {
  return SvgWriter(graph, options).Run();
}

}  // namespace hloscope::graph
