#include "tests/viewer/gl_reference.h"

#include <GLFW/glfw3.h>
#include <imgui.h>
#include <imgui/backends/imgui_impl_opengl3.h>

#include <algorithm>

namespace hloscope::viewer {
namespace {

template <typename... Arguments>
void Call(const char* name, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(glfwGetProcAddress(name))(arguments...);
}

class Context {
 public:
  Context(int width, int height) {
    glfwInitHint(GLFW_PLATFORM, GLFW_PLATFORM_NULL);
    if (glfwInit() == GLFW_FALSE) return;
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_CONTEXT_CREATION_API, GLFW_EGL_CONTEXT_API);
    window_ = glfwCreateWindow(width, height, "reference", nullptr, nullptr);
    if (window_ == nullptr) return;
    glfwMakeContextCurrent(window_);
    is_ready_ = ImGui_ImplOpenGL3_Init("#version 150");
  }
  ~Context() {
    if (is_ready_) ImGui_ImplOpenGL3_Shutdown();
    if (window_ != nullptr) glfwDestroyWindow(window_);
    glfwTerminate();
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  bool is_ready() const { return is_ready_; }

 private:
  GLFWwindow* window_ = nullptr;
  bool is_ready_ = false;
};

}  // namespace

std::optional<Picture> DrawPictureWithOpenGl(ImDrawData& data, uint32_t background_rgb) {
  const auto width = static_cast<int>(data.DisplaySize.x),
             height = static_cast<int>(data.DisplaySize.y);
  const ImGuiBackendFlags flags = ImGui::GetIO().BackendFlags;
  Picture picture{.width = width, .height = height, .rgb = {}};
  {
    const Context context(width, height);
    if (!context.is_ready()) return std::nullopt;
    ImGui_ImplOpenGL3_NewFrame();
    // They are those of the surface without OpenGL: it takes them for new.
    for (ImTextureData* texture : *data.Textures) {
      texture->SetTexID(ImTextureID_Invalid);
      texture->SetStatus(ImTextureStatus_WantCreate);
    }
    const auto part = [&](int shift) {
      return static_cast<float>(background_rgb >> shift & 0xff) / 255.0f;
    };
    Call("glViewport", 0, 0, width, height);
    Call("glClearColor", part(16), part(8), part(0), 1.0f);
    Call("glClear", 0x4000u);
    ImGui_ImplOpenGL3_RenderDrawData(&data);
    const auto row = static_cast<ptrdiff_t>(width) * 3;
    std::vector<uint8_t> upside_down(static_cast<size_t>(row * height));
    Call("glPixelStorei", 0x0D05u, 1);  // rows are not padded
    Call("glReadPixels", 0, 0, width, height, 0x1907u, 0x1401u,
         static_cast<void*>(upside_down.data()));
    for (int y = height - 1; y >= 0; --y)
      picture.rgb.insert(picture.rgb.end(), upside_down.begin() + row * y,
                         upside_down.begin() + row * (y + 1));
  }
  ImGui::GetIO().BackendFlags = flags;
  return picture;
}

}  // namespace hloscope::viewer
