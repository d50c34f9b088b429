// Triangles are cut into rows of pixels whose centres they cover, on a grid of 1/256 pixel and by
// OpenGL's rule for shared edges. A row is filled by one of three loops: one colour, a colour that
// changes, a texture.
#include "viewer/window/rasterizer.h"

#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

namespace hloscope::viewer {
namespace {

constexpr int64_t kGrid = 256;        // steps of a pixel, of vertices and between texels
constexpr float kFarthest = 1 << 21;  // pixels; products of two distances stay below 2^63

// Half-open, in pixels.
struct Box {
  int left = 0, top = 0, right = 0, bottom = 0;
};

struct Rgba {
  uint32_t r = 0, g = 0, b = 0, a = 0;  // each at most 255
};

Rgba Unpack(ImU32 color) {
  return {color >> IM_COL32_R_SHIFT & 0xff, color >> IM_COL32_G_SHIFT & 0xff,
          color >> IM_COL32_B_SHIFT & 0xff, color >> IM_COL32_A_SHIFT & 0xff};
}

// Rounded; exact for products of two bytes.
uint32_t Over255(uint32_t value) { return (value + 128 + ((value + 128) >> 8)) >> 8; }

Rgba Times(const Rgba& color, const Rgba& texel) {
  return {Over255(color.r * texel.r), Over255(color.g * texel.g), Over255(color.b * texel.b),
          Over255(color.a * texel.a)};
}

void Blend(uint8_t* pixel, const Rgba& color) {
  if (color.a == 0) return;
  const uint32_t rest = 255 - color.a;
  pixel[0] = static_cast<uint8_t>(Over255(color.r * color.a + pixel[0] * rest));
  pixel[1] = static_cast<uint8_t>(Over255(color.g * color.a + pixel[1] * rest));
  pixel[2] = static_cast<uint8_t>(Over255(color.b * color.a + pixel[2] * rest));
}

// A value that is linear over a triangle.
struct Plane {
  double at_origin = 0, per_x = 0, per_y = 0;
  double At(double x, double y) const { return at_origin + per_x * x + per_y * y; }
  bool is_flat() const { return per_x == 0 && per_y == 0; }
};

class Texture {
 public:
  explicit Texture(const ImTextureData* data) : data_(data) {}
  bool is_there() const { return data_ != nullptr && data_->Pixels != nullptr; }
  double width() const { return data_->Width; }
  double height() const { return data_->Height; }

  // Bilinear; `u` and `v` in texels. Transparent outside, as between glyphs: clamping would make
  // those at the edge of the texture broader.
  Rgba Sample(double u, double v) const {
    // The small addition decides where rounding would, differently for each place of a glyph.
    constexpr double kAboveRounding = 1e-6;
    const auto x = static_cast<int64_t>(std::floor((u - 0.5) * kGrid + 0.5 + kAboveRounding));
    const auto y = static_cast<int64_t>(std::floor((v - 0.5) * kGrid + 0.5 + kAboveRounding));
    const auto fx = static_cast<uint32_t>(x & (kGrid - 1)),
               fy = static_cast<uint32_t>(y & (kGrid - 1));
    const int64_t left = x >> 8, top = y >> 8;
    if ((fx | fy) == 0) return Unpack(Texel(left, top));
    const std::array texels = {Texel(left, top), Texel(left + 1, top), Texel(left, top + 1),
                               Texel(left + 1, top + 1)};
    if (texels[0] == texels[1] && texels[0] == texels[2] && texels[0] == texels[3])
      return Unpack(texels[0]);
    const std::array weights = {(256 - fx) * (256 - fy), fx * (256 - fy), (256 - fx) * fy, fx * fy};
    Rgba sum{1 << 15, 1 << 15, 1 << 15, 1 << 15};
    for (size_t i = 0; i < texels.size(); ++i) {
      const Rgba texel = Unpack(texels[i]);
      sum.r += texel.r * weights[i];
      sum.g += texel.g * weights[i];
      sum.b += texel.b * weights[i];
      sum.a += texel.a * weights[i];
    }
    return {sum.r >> 16, sum.g >> 16, sum.b >> 16, sum.a >> 16};
  }

 private:
  ImU32 Texel(int64_t x, int64_t y) const {
    if (x < 0 || y < 0 || x >= data_->Width || y >= data_->Height) return 0;
    const unsigned char* at = data_->Pixels + (y * data_->Width + x) * data_->BytesPerPixel;
    if (data_->BytesPerPixel == 1) return IM_COL32(255, 255, 255, *at);
    ImU32 texel = 0;
    std::memcpy(&texel, at, sizeof(texel));
    return texel;
  }

  const ImTextureData* data_;
};

// A triangle, its corners on the grid and in the order that makes its area positive.
class Triangle {
 public:
  Triangle(const ImDrawVert& a, const ImDrawVert& b, const ImDrawVert& c, ImVec2 offset,
           ImVec2 scale)
      : corners_{&a, &b, &c} {
    for (size_t i = 0; i < 3; ++i) {
      const float x = (corners_[i]->pos.x - offset.x) * scale.x,
                  y = (corners_[i]->pos.y - offset.y) * scale.y;
      if (!(std::abs(x) <= kFarthest && std::abs(y) <= kFarthest)) return;  // NaN too
      x_[i] = std::lround(static_cast<double>(x) * kGrid);
      y_[i] = std::lround(static_cast<double>(y) * kGrid);
    }
    area_ = (x_[1] - x_[0]) * (y_[2] - y_[0]) - (x_[2] - x_[0]) * (y_[1] - y_[0]);
    if (area_ >= 0) return;
    area_ = -area_;
    std::swap(corners_[1], corners_[2]);
    std::swap(x_[1], x_[2]);
    std::swap(y_[1], y_[2]);
  }

  // The rows and columns with centres inside, within `clip`; empty for a line.
  Box Bounds(const Box& clip) const {
    if (area_ == 0) return {};
    const auto [left, right] = std::minmax({x_[0], x_[1], x_[2]});
    const auto [top, bottom] = std::minmax({y_[0], y_[1], y_[2]});
    return {.left = std::max(clip.left, PixelAt(left)),
            .top = std::max(clip.top, PixelAt(top)),
            .right = std::min(clip.right, PixelAt(right) + 1),
            .bottom = std::min(clip.bottom, PixelAt(bottom) + 1)};
  }

  // Narrows [left, right) to the pixels of row `y` whose centres are inside.
  void Cut(int y, int& left, int& right) const {
    const int64_t row = y * kGrid + kGrid / 2;
    for (size_t i = 0; i < 3; ++i) {
      const size_t j = (i + 1) % 3;
      const int64_t dx = x_[j] - x_[i], dy = y_[j] - y_[i];
      // Inside where dx·(row − yᵢ) − dy·(x − xᵢ) ≥ 0; a centre on an edge belongs to the triangle
      // at its right or below.
      const bool owns_its_edge = dy < 0 || (dy == 0 && dx > 0);
      const int64_t level = dx * (row - y_[i]) + dy * (x_[i] - kGrid / 2) - (owns_its_edge ? 0 : 1);
      const int64_t step = dy * kGrid;  // level ≥ step·x
      if (step == 0) {
        if (level < 0) right = left;
      } else if (step > 0) {
        right = static_cast<int>(std::min<int64_t>(right, Floor(level, step) + 1));
      } else {
        left = static_cast<int>(std::max<int64_t>(left, -Floor(level, -step)));
      }
    }
  }

  // From values at the corners to values at pixels.
  template <typename Value>
  Plane PlaneOf(const Value& value) const {
    const double a = value(*corners_[0]), ab = value(*corners_[1]) - a,
                 ac = value(*corners_[2]) - a;
    if (ab == 0 && ac == 0) return {.at_origin = a};
    const auto size = static_cast<double>(area_) / kGrid;
    const auto side = [](int64_t one, int64_t other) { return static_cast<double>(one - other); };
    Plane plane;
    plane.per_x = (ab * side(y_[2], y_[0]) - ac * side(y_[1], y_[0])) / size;
    plane.per_y = (ac * side(x_[1], x_[0]) - ab * side(x_[2], x_[0])) / size;
    // Of the centre of pixel 0, 0.
    plane.at_origin =
        a - (plane.per_x * side(x_[0], kGrid / 2) + plane.per_y * side(y_[0], kGrid / 2)) / kGrid;
    return plane;
  }

 private:
  static int64_t Floor(int64_t value, int64_t by) {
    return value >= 0 ? value / by : -((-value + by - 1) / by);
  }
  static int PixelAt(int64_t place) { return static_cast<int>(place >> 8); }

  std::array<const ImDrawVert*, 3> corners_;
  std::array<int64_t, 3> x_{}, y_{};
  int64_t area_ = 0;
};

class Canvas {
 public:
  Canvas(int width, int height, uint32_t rgb) {
    picture_ = {.width = width, .height = height, .rgb = {}};
    picture_.rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
    for (size_t i = 0; i < picture_.rgb.size(); ++i)
      picture_.rgb[i] = static_cast<uint8_t>(rgb >> (16 - 8 * (i % 3)));
  }

  void Draw(const Triangle& triangle, const Texture& texture, const Box& clip) {
    const Box box = triangle.Bounds(clip);
    if (box.left >= box.right || box.top >= box.bottom) return;
    const double width = texture.width(), height = texture.height();
    const Plane u =
        triangle.PlaneOf([&](const ImDrawVert& v) { return static_cast<double>(v.uv.x) * width; });
    const Plane v =
        triangle.PlaneOf([&](const ImDrawVert& w) { return static_cast<double>(w.uv.y) * height; });
    constexpr std::array kShifts = {IM_COL32_R_SHIFT, IM_COL32_G_SHIFT, IM_COL32_B_SHIFT,
                                    IM_COL32_A_SHIFT};
    std::array<Plane, 4> color;
    for (size_t i = 0; i < color.size(); ++i)
      color[i] = triangle.PlaneOf(
          [&](const ImDrawVert& w) { return static_cast<double>(w.col >> kShifts[i] & 0xff); });
    const bool one_color = std::ranges::all_of(color, &Plane::is_flat),
               one_texel = u.is_flat() && v.is_flat();
    const Rgba texel = one_texel ? texture.Sample(u.at_origin, v.at_origin) : Rgba{};
    const auto color_at = [&](int x, int y) {
      const auto part = [&](const Plane& plane) {
        return static_cast<uint32_t>(std::clamp(plane.At(x, y) + 0.5, 0.0, 255.0));
      };
      return Rgba{part(color[0]), part(color[1]), part(color[2]), part(color[3])};
    };
    const Rgba first = color_at(0, 0);  // of each, where there is one color
    for (int y = box.top; y < box.bottom; ++y) {
      int left = box.left, right = box.right;
      triangle.Cut(y, left, right);
      if (left >= right) continue;
      uint8_t* pixel = At(left, y);
      if (one_color && one_texel) {
        Fill(pixel, right - left, Times(first, texel));
      } else if (one_texel) {
        for (int x = left; x < right; ++x, pixel += 3) Blend(pixel, Times(color_at(x, y), texel));
      } else {
        for (int x = left; x < right; ++x, pixel += 3)
          Blend(pixel,
                Times(one_color ? first : color_at(x, y), texture.Sample(u.At(x, y), v.At(x, y))));
      }
    }
  }

  Picture Take() { return std::move(picture_); }

 private:
  uint8_t* At(int x, int y) {
    return picture_.rgb.data() + (static_cast<ptrdiff_t>(y) * picture_.width + x) * 3;
  }
  static void Fill(uint8_t* pixel, int count, const Rgba& color) {
    if (color.a < 255) {
      for (int i = 0; i < count; ++i, pixel += 3) Blend(pixel, color);
      return;
    }
    for (int i = 0; i < count; ++i, pixel += 3) {
      pixel[0] = static_cast<uint8_t>(color.r);
      pixel[1] = static_cast<uint8_t>(color.g);
      pixel[2] = static_cast<uint8_t>(color.b);
    }
  }

  Picture picture_;
};

// As glScissor gets it, whose origin is below and whose numbers are whole.
Box ClipOf(const ImDrawCmd& command, ImVec2 offset, ImVec2 scale, int width, int height) {
  const float left = (command.ClipRect.x - offset.x) * scale.x,
              top = (command.ClipRect.y - offset.y) * scale.y;
  const float right = (command.ClipRect.z - offset.x) * scale.x,
              bottom = (command.ClipRect.w - offset.y) * scale.y;
  if (!(right > left && bottom > top)) return {};
  const auto whole = [](float value) {
    return static_cast<int>(std::clamp(value, -kFarthest, kFarthest));
  };
  const int lowest = height - whole(static_cast<float>(height) - bottom);
  return {.left = std::max(0, whole(left)),
          .top = std::max(0, lowest - whole(bottom - top)),
          .right = std::min(width, whole(left) + whole(right - left)),
          .bottom = std::min(height, lowest)};
}

}  // namespace

Picture DrawPicture(const ImDrawData& data, uint32_t background_rgb) {
  const ImVec2 offset = data.DisplayPos, scale = data.FramebufferScale;
  const auto pixels = [](float size) { return std::max(0, static_cast<int>(size + 0.5f)); };
  const int width = pixels(data.DisplaySize.x * scale.x),
            height = pixels(data.DisplaySize.y * scale.y);
  Canvas canvas(width, height, background_rgb);
  for (const ImDrawList* list : data.CmdLists) {
    const std::span vertices(list->VtxBuffer.Data, static_cast<size_t>(list->VtxBuffer.Size));
    const std::span indices(list->IdxBuffer.Data, static_cast<size_t>(list->IdxBuffer.Size));
    for (const ImDrawCmd& command : list->CmdBuffer) {
      const Texture texture(command.TexRef._TexData);
      const Box clip = ClipOf(command, offset, scale, width, height);
      if (command.UserCallback != nullptr || !texture.is_there()) continue;
      for (size_t i = 0; i + 2 < command.ElemCount; i += 3) {
        const auto corner = [&](size_t at) -> const ImDrawVert& {
          return vertices[command.VtxOffset + indices[command.IdxOffset + i + at]];
        };
        canvas.Draw(Triangle(corner(0), corner(1), corner(2), offset, scale), texture, clip);
      }
    }
  }
  return canvas.Take();
}

}  // namespace hloscope::viewer
