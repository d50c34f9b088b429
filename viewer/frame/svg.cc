// Draw lists hold triangles; those with a glyph's texture become characters, the rest triangles of
// a path.
#include "viewer/frame/svg.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/imgui_internal.h>

#include <iterator>
#include <map>
#include <utility>

#include "core/base/text.h"

namespace hloscope::viewer {
namespace {

struct Glyph {
  ImWchar code = 0;
  float size = 0, x0 = 0, y0 = 0;  // of the font, and where the glyph's box begins from the pen
  float ascent = 0;
  float x1 = 0, y1 = 0, u0 = 0, v0 = 0, u1 = 0, v1 = 0;  // where it ends, and its texture
  bool mono = false;
};

class SvgWriter {
 public:
  SvgWriter(float x, float y, float width, float height)
      : x_(x), y_(y), width_(width), height_(height) {
    CollectGlyphs();
  }

  std::string Write(const ImDrawData& data, uint32_t background) {
    fmt::format_to(std::back_inserter(out_),
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                   "viewBox=\"{2} {3} {0} {1}\">\n<rect x=\"{2}\" y=\"{3}\" width=\"{0}\" "
                   "height=\"{1}\" fill=\"#{4:06x}\"/>\n",
                   width_, height_, x_, y_, background);
    for (const ImDrawList* list : data.CmdLists) WriteList(*list);
    FlushPath();
    return out_ + "</svg>\n";
  }

 private:
  void CollectGlyphs() {
    ImFontAtlas* atlas = ImGui::GetIO().Fonts;
    white_ = atlas->TexUvWhitePixel;
    for (ImFont* font : atlas->Fonts) {
      bool mono = font->Sources.Size > 0 &&
                  std::string_view(font->Sources[0]->Name).find("Mono") != std::string_view::npos;
      for (int i = 0; i < atlas->Builder->BakedPool.Size; ++i) {
        ImFontBaked& baked = atlas->Builder->BakedPool[i];
        if (baked.OwnerFont != font) continue;
        for (const ImFontGlyph& glyph : baked.Glyphs) {
          glyphs_[{glyph.U0, glyph.V0}] = {.code = static_cast<ImWchar>(glyph.Codepoint),
                                           .size = baked.Size,
                                           .x0 = glyph.X0,
                                           .y0 = glyph.Y0,
                                           .ascent = baked.Ascent,
                                           .x1 = glyph.X1,
                                           .y1 = glyph.Y1,
                                           .u0 = glyph.U0,
                                           .v0 = glyph.V0,
                                           .u1 = glyph.U1,
                                           .v1 = glyph.V1,
                                           .mono = mono};
        }
      }
    }
  }

  void WriteList(const ImDrawList& list) {
    for (const ImDrawCmd& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr) continue;
      const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset;
      for (unsigned i = 0; i + 2 < command.ElemCount; i += 3) {
        const ImDrawVert* v[3];
        for (unsigned k = 0; k < 3; ++k)
          v[k] = &list.VtxBuffer[static_cast<int>(command.VtxOffset + index[i + k])];
        WriteTriangle(v, command.ClipRect);
      }
    }
  }

  void WriteTriangle(const ImDrawVert* const (&v)[3], const ImVec4& clip) {
    if ((v[0]->col >> 24) == 0 && (v[1]->col >> 24) == 0 && (v[2]->col >> 24) == 0) return;
    auto inside = [&](const ImDrawVert* p) {
      return p->pos.x >= std::max(clip.x, x_) && p->pos.y >= std::max(clip.y, y_) &&
             p->pos.x <= std::min(clip.z, x_ + width_) &&
             p->pos.y <= std::min(clip.w, y_ + height_);
    };
    if (!inside(v[0]) && !inside(v[1]) && !inside(v[2])) return;
    auto glyph = glyphs_.find({v[0]->uv.x, v[0]->uv.y});
    if (glyph != glyphs_.end()) {
      // A glyph is two triangles; the first begins in its upper left corner, the second does too.
      if (v[1]->uv.y == v[0]->uv.y) WriteGlyph(glyph->second, *v[0]);
      return;
    }
    // A glyph of which the beginning was cut away starts inside its texture.
    if (v[1]->uv.y == v[0]->uv.y && v[1]->uv.x > v[0]->uv.x) {
      if (const Glyph* cut = FindCut(v[0]->uv)) return WriteGlyph(*cut, Uncut(*cut, *v[0]));
    }
    if (v[0]->uv.x == v[1]->uv.x || v[0]->uv.y == v[1]->uv.y) WritePath(v);
  }

  const Glyph* FindCut(ImVec2 uv) const {
    for (const auto& [corner, glyph] : glyphs_) {
      if (glyph.u0 <= uv.x && uv.x < glyph.u1 && glyph.v0 <= uv.y && uv.y < glyph.v1) return &glyph;
    }
    return nullptr;
  }
  static ImDrawVert Uncut(const Glyph& glyph, ImDrawVert corner) {
    corner.pos.x -= (corner.uv.x - glyph.u0) / (glyph.u1 - glyph.u0) * (glyph.x1 - glyph.x0);
    corner.pos.y -= (corner.uv.y - glyph.v0) / (glyph.v1 - glyph.v0) * (glyph.y1 - glyph.y0);
    return corner;
  }

  void WriteGlyph(const Glyph& glyph, const ImDrawVert& corner) {
    FlushPath();
    if (glyph.code <= 32) return;
    float x = corner.pos.x - glyph.x0, y = corner.pos.y - glyph.y0 + glyph.ascent;
    fmt::format_to(std::back_inserter(out_),
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" font-family=\"{}\" font-size=\"{:.1f}\" "
                   "fill=\"#{:06x}\" fill-opacity=\"{:.2f}\">{}</text>\n",
                   x, y, glyph.mono ? "JetBrains Mono, monospace" : "Inter, sans-serif",
                   glyph.size * 0.8f, Rgb(corner.col), Alpha(corner.col),
                   EscapeHtml(EncodeUtf8(glyph.code)));
  }

  void WritePath(const ImDrawVert* const (&v)[3]) {
    if (v[0]->col != path_color_) FlushPath();
    path_color_ = v[0]->col;
    fmt::format_to(std::back_inserter(path_), "M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z",
                   v[0]->pos.x, v[0]->pos.y, v[1]->pos.x, v[1]->pos.y, v[2]->pos.x, v[2]->pos.y);
  }
  void FlushPath() {
    if (!path_.empty()) {
      fmt::format_to(std::back_inserter(out_),
                     "<path d=\"{}\" fill=\"#{:06x}\" fill-opacity=\"{:.2f}\"/>\n", path_,
                     Rgb(path_color_), Alpha(path_color_));
    }
    path_.clear();
  }

  static uint32_t Rgb(ImU32 c) { return (c & 0xff) << 16 | (c & 0xff00) | (c >> 16 & 0xff); }
  static float Alpha(ImU32 c) { return static_cast<float>(c >> 24) / 255.0f; }

  float x_, y_, width_, height_;
  ImVec2 white_;
  std::map<std::pair<float, float>, Glyph> glyphs_;
  std::string out_, path_;
  ImU32 path_color_ = 0;
};

}  // namespace

Result<std::string> SvgOfFrame(float x, float y, float width, float height, uint32_t background) {
  const ImDrawData* data = ImGui::GetDrawData();
  if (data == nullptr || !data->Valid) return InternalError("no frame was drawn yet");
  return SvgWriter(x, y, width, height).Write(*data, background);
}

}  // namespace hloscope::viewer
