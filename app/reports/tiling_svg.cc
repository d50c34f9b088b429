#include "app/reports/tiling_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/hlo/text/text.h"
#include "core/hlo/words.h"

namespace hloscope::app {
namespace {

constexpr int kMargin = 16, kLine = 18;
constexpr int kTileWidth = 120, kTileHeight = 48, kCellWidth = 44, kCellHeight = 20;
constexpr int64_t kMaxTiles = 6, kMaxCells = 16;
constexpr size_t kLineLetters = 100;
constexpr const char* kColors[] = {"#cfe2f3", "#d9ead3", "#fff2cc",
                                   "#f4cccc", "#d9d2e9", "#fce5cd"};

// Lines of at most kLineLetters, broken at blanks.
std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> out;
  while (text.size() > kLineLetters) {
    size_t end = text.rfind(' ', kLineLetters);
    if (end == text.npos || end == 0) end = std::min(text.find(' '), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out.emplace_back(text);
  return out;
}

class Drawing {
 public:
  explicit Drawing(const hlo::Shape& shape) : shape_(shape) {
    if (shape.layout().extras == nullptr || shape.layout().extras->tiles.empty()) return;
    tile_ = shape.layout().extras->tiles[0].dimensions;
    tile_size_ = CheckedProduct(tile_).value_or(INT64_MAX);
  }

  std::string Draw(std::string_view device) {
    const auto cells = hlo::TilingPlaces(shape_, kMaxCells, kMaxCells);
    if (cells.empty()) return {};
    Text(hlo::ToString(shape_), true);
    for (const hlo::LayoutPart& part : hlo::DescribeLayout(shape_, device)) {
      for (const std::string& line : Lines(part.text + ": " + part.meaning)) Text(line);
    }
    if (!tile_.empty()) Tiles();
    Text("Places of the first elements of the last two dimensions, in elements:");
    for (size_t r = 0; r < cells.size(); ++r) {
      for (size_t c = 0; c < cells[r].size(); ++c) Cell(r, c, cells[r][c]);
    }
    y_ += static_cast<int>(cells.size()) * kCellHeight;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" font-family=\"monospace\" font-size=\"12\">\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
               width_ + kMargin, y_ + kMargin) +
           body_ + "</svg>\n";
  }

 private:
  void Text(std::string_view text, bool is_bold = false) {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", kMargin, y_ + kLine - 5,
                         is_bold ? " font-weight=\"bold\"" : "", EscapeHtml(text));
    y_ += kLine;
    width_ = std::max(width_, kMargin + static_cast<int>(text.size()) * 15 / 2);
  }

  // The size of a tile in a dimension of the array.
  int64_t StepOf(size_t dimension) const {
    const auto& order = shape_.layout().minor_to_major;
    const auto k = static_cast<size_t>(std::ranges::find(order, static_cast<int64_t>(dimension)) -
                                       order.begin());
    return k < tile_.size() ? tile_[tile_.size() - 1 - k] : 1;
  }

  void Tiles() {
    const size_t rank = shape_.rank();
    const int64_t step_c = StepOf(rank - 1), step_r = rank > 1 ? StepOf(rank - 2) : 1;
    const int64_t width = shape_.dimension(rank - 1),
                  height = rank > 1 ? shape_.dimension(rank - 2) : 1;
    const int64_t columns = (width - 1) / step_c + 1, rows = (height - 1) / step_r + 1;
    Text(fmt::format("{} by {} tiles of {} by {}, in the order of memory; hatched: padding", rows,
                     columns, step_r, step_c));
    body_ +=
        "<pattern id=\"padding\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<path d=\"M0 6L6 0\" stroke=\"#888\"/></pattern>\n";
    for (int64_t r = 0; r < std::min(rows, kMaxTiles); ++r) {
      for (int64_t c = 0; c < std::min(columns, kMaxTiles); ++c) {
        const auto used = [](int64_t size, int64_t step, int64_t at, int pixels) {
          return static_cast<int>(std::min(step, size - at * step) * pixels / step);
        };
        Tile(r, c, used(width, step_c, c, kTileWidth), used(height, step_r, r, kTileHeight),
             columns);
      }
    }
    y_ += static_cast<int>(std::min(rows, kMaxTiles)) * kTileHeight + kLine / 2;
    if (rows > kMaxTiles || columns > kMaxTiles) Text("… and further tiles");
  }

  void Tile(int64_t r, int64_t c, int used_width, int used_height, int64_t columns) {
    const int x = kMargin + static_cast<int>(c) * kTileWidth,
              y = y_ + static_cast<int>(r) * kTileHeight;
    // Of the dimensions in the order of memory the major one counts first.
    const auto& order = shape_.layout().minor_to_major;
    const bool by_rows =
        shape_.rank() < 2 || std::ranges::find(order, static_cast<int64_t>(shape_.rank() - 1)) <
                                 std::ranges::find(order, static_cast<int64_t>(shape_.rank() - 2));
    const int64_t rows =
        shape_.rank() < 2
            ? 1
            : (shape_.dimension(shape_.rank() - 2) - 1) / StepOf(shape_.rank() - 2) + 1;
    const int64_t number = by_rows ? r * columns + c : c * rows + r;
    body_ += fmt::format(
        "<rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" fill=\"url(#padding)\" "
        "stroke=\"#444\"/>"
        "<rect x=\"{0}\" y=\"{1}\" width=\"{4}\" height=\"{5}\" fill=\"{6}\" stroke=\"#444\"/>"
        "<text x=\"{7}\" y=\"{8}\">{9}</text>\n",
        x, y, kTileWidth, kTileHeight, used_width, used_height, ColorOf(number), x + 6, y + 18,
        number);
    width_ = std::max(width_, x + kTileWidth);
  }

  void Cell(size_t r, size_t c, int64_t place) {
    const int x = kMargin + static_cast<int>(c) * kCellWidth,
              y = y_ + static_cast<int>(r) * kCellHeight;
    body_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#aaa\"/>"
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
        x, y, kCellWidth, kCellHeight, ColorOf(place / tile_size_), x + kCellWidth - 4, y + 14,
        place);
    width_ = std::max(width_, x + kCellWidth);
  }

  static const char* ColorOf(int64_t tile) {
    return kColors[static_cast<size_t>(tile) % std::size(kColors)];
  }

  const hlo::Shape& shape_;
  std::vector<int64_t> tile_;
  int64_t tile_size_ = INT64_MAX;  // without tiles all elements are in one
  std::string body_;
  int y_ = kMargin, width_ = 0;
};

}  // namespace

std::string TilingSvg(const hlo::Shape& shape, std::string_view device) {
  if (!shape.IsArray() || !shape.has_layout()) return {};
  return Drawing(shape).Draw(device);
}

}  // namespace hloscope::app
