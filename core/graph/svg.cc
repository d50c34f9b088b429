#include "core/graph/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_set>

#include "core/base/text.h"
#include "core/graph/looks.h"
#include "core/graph/svg_shapes.h"

namespace hloscope::graph {
namespace {

constexpr float kMargin = kSvgMargin, kLegendRow = 26;
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
    const float width = SvgWidth(picture_);
    const float height = picture_.height + 2 * kMargin + legend;
    Add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n",
        width, height, EscapeHtml(options_.heading), SvgStyle(options_.colors));
    Add("<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 "
        "1L7 4L0 7z\" fill=\"#{:06x}\"/></marker></defs>\n",
        options_.colors.wire);
    Add("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#{:06x}\"/>\n", width, height,
        options_.colors.ground);
    AddLegend(width);
    Add("<g transform=\"translate({:.1f} {:.1f})\">\n", (width - picture_.width) / 2,
        kMargin + legend);
    for (const Box& box : picture_.boxes) {
      if (box.open) AddFrame(box);
    }
    AddLanes();
    if (options_.dress) AddHulls();
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

  // Of a picture that is dressed, what it is dressed in stands beside it.
  bool HasLegend() const { return !options_.dress; }
  uint32_t Fill(const SvgDress& dress) const {
    if (dress.fill) return *dress.fill;
    if (!options_.dress) return options_.colors.node;
    return MixColors(options_.colors.node, dress.color,
                     dress.place == analysis::Place::kHost ? 0.4f : 0.16f);
  }

  analysis::Place PlaceOf(NodeId id) const {
    const Node& node = tree_[id];
    if (options_.placement == nullptr || node.kind != NodeKind::kInstruction)
      return analysis::Place::kUndecided;
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
    for (const analysis::Transfer& t : options_.placement->transfers)
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
      if (places_[k]) items.push_back({LookOf(static_cast<analysis::Place>(k)).text, false, k});
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
    const float width = SvgWidth(picture_);
    if (!HasLegend()) return SvgHeadingHeight(options_);
    const int rows = ForEachItem(width, [](const Item&, float, int) {});
    return 30 + static_cast<float>(rows) * kLegendRow + 14;
  }
  void AddLegend(float width) {
    Add("<text class=\"h\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, kMargin + 12,
        EscapeHtml(Elide(options_.heading, static_cast<size_t>((width - 2 * kMargin) / 9.2f))));
    if (!HasLegend()) return;
    ForEachItem(width, [&](const Item& item, float x, int row) {
      const float y = kMargin + 30 + static_cast<float>(row) * kLegendRow;
      if (item.role) {
        Add("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"5\" height=\"16\" fill=\"#{:06x}\"/>", x + 20,
            y, ColorOf(static_cast<Role>(item.index)));
      } else {
        const PlaceLook& look = LookOf(static_cast<analysis::Place>(item.index));
        AddOutline({x, y, 26, 16}, look.outline, options_.colors.ground, look.color);
      }
      Add("<text class=\"s\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 34, y + 12, item.text);
    });
  }

  // --- Boxes
  void AddOutline(const SvgArea& area, Outline outline, uint32_t fill, uint32_t stroke) {
    AppendOutline(area, outline, fill, stroke, out_);
  }
  // How a box is painted: as the options say, else by role and place, for paper.
  SvgDress DressOf(NodeId id) const {
    if (options_.dress) return options_.dress(id);
    SvgDress dress;
    dress.place = PlaceOf(id);
    dress.color = IsInstruction(id) ? ColorOf(RoleAt(id)) : options_.colors.line;
    dress.outline = LookOf(dress.place).color;
    return dress;
  }

  void BeginNode(const Box& box) {
    // A group may stand in several lanes: the first has the name that links lead to.
    const std::string id = fmt::format("{}n{}", options_.prefix, box.node.index);
    const bool first = named_.insert(box.node.index).second;
    Add("<g{}><title>{}</title>", first ? fmt::format(" id=\"{}\"", id) : "",
        EscapeHtml(Explain(tree_, box.node, options_.placement)));
  }
  static std::string StyleAttribute(std::string_view style) {
    style.remove_prefix(style.starts_with(';') ? 1 : 0);
    return style.empty() ? std::string() : fmt::format(" style=\"{}\"", style);
  }
  bool Linked(NodeId id) const { return options_.link_to_lines && IsInstruction(id); }

  void AddFrame(const Box& box) {
    BeginNode(box);
    const bool call = IsInstruction(box.node);
    const uint32_t color = call ? DressOf(box.node).outline : options_.colors.line;
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
    const SvgArea area{box.x, box.y, box.width, box.height};
    const SvgDress dress = DressOf(box.node);
    if (instruction) {
      AddOutline(area, LookOf(dress.place).outline, Fill(dress), dress.outline);
    } else {
      AddStack(area, dress);
    }
    if ((instruction || options_.dress) && !dress.fill) {
      Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"4\" height=\"{:.1f}\" fill=\"#{:06x}\"/>",
          box.x + 5, box.y + 6, box.height - 12, dress.color);
    }
    if (dress.ring) {
      Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" "
          "fill=\"none\" stroke=\"#{:06x}\" stroke-width=\"3\"/>",
          box.x - 4, box.y - 4, box.width + 8, box.height + 8, *dress.ring);
    }
    if (!dress.mark.empty()) {
      Add("<text class=\"k\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", box.x + 2,
          box.y + box.height + 17, EscapeHtml(dress.mark));
    }
    if (Linked(box.node)) Add("<a href=\"#i{}\">", tree_[box.node].instruction.index);
    const NodeText text = TextOf(tree_, box.node, box.count);
    // Boxes in lanes may be narrower than their texts.
    const float room = box.width - 2 * kNodePadding;
    const auto columns = [&](float size) {
      return static_cast<size_t>(std::max(4.0f, room / (size * kCharacterWidth) + 0.01f));
    };
    const bool two_lines = box.height >= kNodeHeight;
    const float left = box.x + kNodePadding + 2;
    const float size = two_lines ? kTitleSize : kSubtitleSize;
    const std::string ink = dress.fill ? fmt::format("fill:#{:06x}", dress.ink) : std::string();
    const std::string font = two_lines ? std::string() : fmt::format(";font-size:{:.0f}px", size);
    Add("<text class=\"t\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", left,
        two_lines ? box.y + 18 : box.y + box.height / 2 + 4, StyleAttribute(ink + font),
        EscapeHtml(ElideEnd(text.title, columns(size))));
    if (two_lines) {
      Add("<text class=\"s\" x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", left, box.y + 35,
          StyleAttribute(ink), EscapeHtml(ElideEnd(text.subtitle, columns(kSubtitleSize))));
    }
    if (Linked(box.node)) Add("</a>");
    AddChips(box);
    Add("</g>\n");
  }

  // A closed group looks like a pile of sheets.
  void AddStack(const SvgArea& a, const SvgDress& dress) {
    for (float shift : {6.0f, 3.0f, 0.0f}) {
      const uint32_t fill = options_.dress && shift == 0 ? Fill(dress) : options_.colors.raised;
      Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"3\" "
          "fill=\"#{:06x}\" stroke=\"#{:06x}\"/>",
          a.x + shift, a.y + shift, a.width - 6, a.height - 6, fill, options_.colors.wire);
    }
  }

  // Inflated boxes of one kernel, and the wires between them as broad bands.
  void AddHulls() {
    constexpr float kPadding = 8;
    std::unordered_map<uint32_t, SvgDress> hulls;
    for (const Box& box : picture_.boxes) {
      if (box.open) continue;
      SvgDress dress = DressOf(box.node);
      if (dress.hull) hulls.emplace(box.node.index, std::move(dress));
    }
    for (const Wire& wire : picture_.wires) {
      const auto from = hulls.find(wire.from.index), to = hulls.find(wire.to.index);
      if (wire.point_count < 2 || from == hulls.end() || to == hulls.end() ||
          from->second.kernel != to->second.kernel)
        continue;
      Add("<path fill=\"none\" stroke=\"#{:06x}\" stroke-width=\"{:.0f}\" d=\"", *from->second.hull,
          2.2f * kPadding);
      AddPath(wire);
      out_ += "\"/>\n";
    }
    for (const Box& box : picture_.boxes) {
      const auto found = hulls.find(box.node.index);
      if (box.open || found == hulls.end()) continue;
      Add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"10\" "
          "fill=\"#{:06x}\"/>\n",
          box.x - kPadding, box.y - kPadding, box.width + 2 * kPadding, box.height + 2 * kPadding,
          *found->second.hull);
    }
  }

  // Titles above the lanes, and what parts them.
  void AddLanes() {
    for (size_t k = 0; k < options_.lanes.size(); ++k) {
      const SvgLane& lane = options_.lanes[k];
      if (lane.loud) {
        Add("<rect x=\"{:.1f}\" y=\"-40\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#{:06x}\" "
            "fill-opacity=\".1\"/>",
            lane.left - 20, lane.width + 40, picture_.height + 60, options_.colors.host);
      }
      Add("<text class=\"t\" {4} x=\"{0:.1f}\" y=\"-26\">{1}</text><text class=\"t\" {4} "
          "x=\"{0:.1f}\" y=\"-8\" font-weight=\"bold\">{2}</text>{3}",
          lane.left, EscapeHtml(lane.title), EscapeHtml(lane.count), "\n",
          lane.loud ? "style=\"fill:" + HexColor(options_.colors.host) + "\"" : "");
      if (k + 1 == options_.lanes.size()) break;
      Add("<path class=\"w\" d=\"M{:.1f} -40V{:.1f}\"/>\n",
          (lane.left + lane.width + options_.lanes[k + 1].left) / 2, picture_.height + 20);
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
    const analysis::Transfer* t = transfers_[tree_[box.node].instruction.index];
    if (t == nullptr) return;
    const bool to_host = t->direction == analysis::TransferDirection::kToHost;
    Add("<text class=\"j\" style=\"fill:#{4:06x};font-weight:bold;text-anchor:end\" x=\"{0:.1f}\" "
        "y=\"{1:.1f}\">{2} {3}</text>",
        box.x + box.width, box.y - 4, to_host ? "→ host" : "→ device",
        t->bytes < 0 ? "size unknown" : BytesText(t->bytes), options_.colors.host);
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
    const bool moves = Moves(wire.from) || Moves(wire.to);
    // Wider for more bytes: 1 up to 1 kB, 3 from 1 GB on.
    float width = 1;
    for (int64_t b = wire.bytes; b > 1024 && width < 3; b /= 32) width += 0.5f;
    if (moves) width += 1;
    Add("<path class=\"{}\" stroke-width=\"{:.1f}\" d=\"",
        moves           ? "m"
        : wire.reversed ? "b"
                        : "w",
        width);
    AddPath(wire);
    Add("\"{}><title>{} → {}{}</title></path>\n",
        picture_.Find(wire.to) != nullptr ? " marker-end=\"url(#a)\"" : "", NameOf(wire.from),
        NameOf(wire.to), wire.bytes > 0 ? ": " + BytesText(wire.bytes) : "");
  }
  void AddPath(const Wire& wire) {
    auto p = std::span(picture_.points).subspan(wire.first_point, wire.point_count);
    Add("M{:.1f} {:.1f}", p[0].x, p[0].y);
    for (size_t k = 1; k < p.size(); ++k) {
      if (p[k].x == p[k - 1].x) {
        Add("V{:.1f}", p[k].y);
        continue;
      }
      const float middle = (p[k].y + p[k - 1].y) / 2;
      Add("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", p[k - 1].x, middle, p[k].x, middle, p[k].x,
          p[k].y);
    }
  }
  std::string NameOf(NodeId id) const {
    return id.valid() ? EscapeHtml(Elide(tree_.Title(id), 60)) : "outside";
  }

  FoldableGraph& graph_;
  const Tree& tree_;
  const Picture& picture_;
  const SvgOptions& options_;
  std::array<bool, kRoleCount> roles_ = {};
  std::array<bool, analysis::kPlaceCount> places_ = {};
  std::unordered_map<uint32_t, std::vector<NodeId>> leaving_, arriving_;
  std::unordered_set<uint32_t> named_;
  std::vector<const analysis::Transfer*> transfers_;
  std::string out_;
};

}  // namespace

std::string ToSvg(FoldableGraph& graph, const SvgOptions& options) {
  return SvgWriter(graph, options).Run();
}

}  // namespace hloscope::graph
