// A sheet: sentences, pictures, the ribbon over them, a legend.
#include "core/graph/svg_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/text.h"
#include "core/graph/svg_shapes.h"

namespace hloscope::graph {
namespace {

constexpr float kHead = 64, kLegendLine = 24, kBoldCharacter = 9.2f;

// Where a box of a pane stands on the sheet.
struct Spot {
  float left = 0, top = 0, right = 0, bottom = 0;
};

class SheetWriter {
 public:
  SheetWriter(std::span<SvgPane> panes, const SvgSheet& sheet) : panes_(panes), sheet_(sheet) {}

  std::string Run() {
    AddPanes();
    const float below = AddLegend(kHead + height_ + 16);
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
               "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<style>{2}</style>\n<rect width=\"{0:.0f}\" "
               "height=\"{1:.0f}\" fill=\"#{3:06x}\"/>\n",
               width_, below, SvgStyle(sheet_.colors), sheet_.colors.ground) +
           Head() + out_ + ribbon_ + "</svg>\n";
  }

 private:
  std::string Head() const {
    return fmt::format(
        "<text class=\"h\" x=\"{0}\" y=\"28\">{1}<tspan fill=\"#{2:06x}\">{3}</tspan></text>\n"
        "<text class=\"s\" x=\"{0}\" y=\"50\">{4}</text>\n",
        kSvgMargin, EscapeHtml(sheet_.headline), sheet_.colors.host, EscapeHtml(sheet_.loud),
        EscapeHtml(sheet_.shown));
  }

  void AddPanes() {
    std::vector<Spot> before;
    for (SvgPane& pane : panes_) {
      const Picture& picture =
          pane.options.picture != nullptr ? *pane.options.picture : pane.graph->picture();
      const float heading = SvgHeadingHeight(pane.options);
      const std::string svg = ToSvg(*pane.graph, pane.options);
      out_ += fmt::format("<svg x=\"{:.0f}\" y=\"{:.0f}\"", width_, kHead) + svg.substr(4);
      std::vector<Spot> spots;
      const Point corner{width_ + (SvgWidth(picture) - picture.width) / 2,
                         kHead + kSvgMargin + heading};
      for (NodeId node : pane.shown) {
        if (const Box* box = picture.Find(node))
          spots.push_back({corner.x + box->x, corner.y + box->y, corner.x + box->x + box->width,
                           corner.y + box->y + box->height});
      }
      AddRibbon(before, spots);
      if (!spots.empty()) before = std::move(spots);
      width_ += SvgWidth(picture);
      height_ = std::max(height_, picture.height + 2 * kSvgMargin + heading);
    }
    const float sentence =
        static_cast<float>(Columns(sheet_.headline) + Columns(sheet_.loud)) * kBoldCharacter;
    width_ = std::max(width_, sentence + 2 * kSvgMargin);
  }

  // From each of the boxes before to all of those that came of them.
  void AddRibbon(const std::vector<Spot>& from, const std::vector<Spot>& to) {
    constexpr size_t kMaxBands = 40;
    if (from.empty() || to.empty()) return;
    Spot all = to.front();
    for (const Spot& spot : to) {
      all = {std::min(all.left, spot.left), std::min(all.top, spot.top),
             std::max(all.right, spot.right), std::max(all.bottom, spot.bottom)};
    }
    for (const Spot& a : std::span(from).first(std::min(from.size(), kMaxBands))) {
      const float middle = (a.right + all.left) / 2;
      fmt::format_to(std::back_inserter(ribbon_),
                     "<path d=\"M{0:.1f} {1:.1f}C{2:.1f} {1:.1f} {2:.1f} {3:.1f} {4:.1f} {3:.1f}"
                     "V{5:.1f}C{2:.1f} {5:.1f} {2:.1f} {6:.1f} {0:.1f} {6:.1f}z\" "
                     "fill=\"#{7:06x}\" fill-opacity=\"{8}\" stroke=\"#{7:06x}\"/>\n",
                     a.right, a.top, middle, all.top, all.left, all.bottom, a.bottom,
                     sheet_.shown_color, from.size() > 6 ? 0.1 : 0.2);
    }
  }

  // Returns where the sheet ends.
  float AddLegend(float y) {
    float x = kSvgMargin;
    for (const SvgLegendEntry& entry : sheet_.legend) {
      const float text = static_cast<float>(Columns(entry.text)) * kSubtitleSize * kCharacterWidth;
      const float mark = entry.outline ? 26.0f : 14.0f;
      if (x > kSvgMargin && x + mark + text > width_ - kSvgMargin) {
        x = kSvgMargin;
        y += kLegendLine;
      }
      AppendOutline({x, y, mark, 14}, entry.outline.value_or(Outline::kThinRectangle),
                    entry.outline ? sheet_.colors.ground : entry.color, entry.color, out_);
      x += mark + 6;
      if (entry.text.empty()) continue;
      out_ += fmt::format("<text class=\"s\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x, y + 11,
                          EscapeHtml(entry.text));
      x += text + 18;
    }
    return y + kLegendLine + kSvgMargin / 2;
  }

  std::span<SvgPane> panes_;
  const SvgSheet& sheet_;
  float width_ = 0, height_ = 0;
  std::string out_, ribbon_;
};

}  // namespace

std::string ToSvg(std::span<SvgPane> panes, const SvgSheet& sheet) {
  return SheetWriter(panes, sheet).Run();
}

}  // namespace hloscope::graph
