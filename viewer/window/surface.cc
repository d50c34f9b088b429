// The surface of GLFW (X11) and the one without anything. GLFW loads X11 and OpenGL when a window
// is made, not before.
#include "viewer/window/surface.h"

#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui/backends/imgui_impl_glfw.h>
#include <imgui/backends/imgui_impl_opengl3.h>
#include <imgui/imgui.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace hloscope::viewer {
namespace {

// The functions of OpenGL beyond what ImGui's back end calls itself.
struct Gl {
  void (*Viewport)(int, int, int, int) = nullptr;
  void (*ClearColor)(float, float, float, float) = nullptr;
  void (*Clear)(unsigned) = nullptr;

  bool Load() {
    auto load = [](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(glfwGetProcAddress(name));
      return function != nullptr;
    };
    return load(Viewport, "glViewport") && load(ClearColor, "glClearColor") &&
           load(Clear, "glClear");
  }
};
constexpr unsigned kGlColorBuffer = 0x4000;

std::string GlfwError() {
  const char* text = nullptr;
  glfwGetError(&text);
  return text == nullptr ? "no reason given" : text;
}

class GlfwSurface : public Surface {
 public:
  GlfwSurface() = default;
  ~GlfwSurface() override {
    if (renderer_) ImGui_ImplOpenGL3_Shutdown();
    if (platform_) ImGui_ImplGlfw_Shutdown();
    if (window_ != nullptr) glfwDestroyWindow(window_);
    glfwTerminate();
  }
  GlfwSurface(const GlfwSurface&) = delete;
  GlfwSurface& operator=(const GlfwSurface&) = delete;

  Status Start(const SurfaceOptions& options) {
    // Mesa maps its cache of shaders into memory, and a full disk then ends the process.
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 0);
    if (glfwInit() == GLFW_FALSE)
      return EnvironmentError(
          "cannot open a window: " + GlfwError(),
          "is DISPLAY set? over ssh use `ssh -X`; without any display use --screenshot OUT.png");
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    if (options.kind == SurfaceKind::kHidden) glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
    window_ = glfwCreateWindow(options.width, options.height, "hloscope", nullptr, nullptr);
    if (window_ == nullptr)
      return EnvironmentError("no OpenGL 3.3: " + GlfwError(),
                              "install libgl1-mesa-dri and libgl1, which draw without a GPU; "
                              "--screenshot OUT.png needs none");
    glfwMakeContextCurrent(window_);
    if (!gl_.Load()) return EnvironmentError("OpenGL lacks functions of version 3.3");
    glfwSwapInterval(options.kind == SurfaceKind::kHidden ? 0 : 1);
    glfwSetWindowUserPointer(window_, this);
    glfwSetDropCallback(window_, [](GLFWwindow* window, int count, const char** paths) {
      auto* self = static_cast<GlfwSurface*>(glfwGetWindowUserPointer(window));
      self->Drop({paths, paths + count});
    });
    platform_ = ImGui_ImplGlfw_InitForOpenGL(window_, true);
    renderer_ = platform_ && ImGui_ImplOpenGL3_Init("#version 150");
    if (!renderer_) return EnvironmentError("cannot initialise OpenGL 3.3");
    scale_ = options.scale;
    if (scale_ <= 0) glfwGetWindowContentScale(window_, &scale_, nullptr);
    if (scale_ <= 0) scale_ = 1;
    return {};
  }

  void NewFrame() override {
    glfwPollEvents();
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplGlfw_NewFrame();
  }

  void Show(uint32_t background) override {
    glfwGetFramebufferSize(window_, &width_, &height_);
    gl_.Viewport(0, 0, width_, height_);
    auto part = [&](int shift) { return static_cast<float>(background >> shift & 0xff) / 255.0f; };
    gl_.ClearColor(part(16), part(8), part(0), 1);
    gl_.Clear(kGlColorBuffer);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    glfwSwapBuffers(window_);
  }

  void Wait(double seconds) override {
    if (seconds < 0) {
      glfwWaitEvents();
    } else {
      glfwWaitEventsTimeout(seconds);
    }
  }
  void Wake() override { glfwPostEmptyEvent(); }
  bool closed() const override { return glfwWindowShouldClose(window_) != 0; }
  float scale() const override { return scale_; }
  bool hidden() const override { return glfwGetWindowAttrib(window_, GLFW_ICONIFIED) != 0; }
  bool focused() const override { return glfwGetWindowAttrib(window_, GLFW_FOCUSED) != 0; }
  void SetTitle(const std::string& title) override { glfwSetWindowTitle(window_, title.c_str()); }
  void Maximize() override { glfwMaximizeWindow(window_); }
  bool is_maximized() const override { return glfwGetWindowAttrib(window_, GLFW_MAXIMIZED) != 0; }

 private:
  GLFWwindow* window_ = nullptr;
  Gl gl_;
  bool platform_ = false, renderer_ = false;
  float scale_ = 1;
  int width_ = 0, height_ = 0;
};

class HeadlessSurface : public Surface {
 public:
  explicit HeadlessSurface(const SurfaceOptions& options)
      : width_(options.width),
        height_(options.height),
        scale_(options.scale > 0 ? options.scale : 1) {
    ImGuiIO& io = ImGui::GetIO();
    io.BackendFlags |=
        ImGuiBackendFlags_RendererHasTextures | ImGuiBackendFlags_RendererHasVtxOffset;
  }

  void NewFrame() override {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = ImVec2(static_cast<float>(width_), static_cast<float>(height_));
    io.DeltaTime = 1.0f / 60;
  }
  void Show(uint32_t /*background*/) override {
    for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) {
      if (texture->Status == ImTextureStatus_WantCreate) {
        texture->SetTexID(1);
        texture->SetStatus(ImTextureStatus_OK);
      } else if (texture->Status == ImTextureStatus_WantUpdates) {
        texture->SetStatus(ImTextureStatus_OK);
      } else if (texture->Status == ImTextureStatus_WantDestroy) {
        texture->SetTexID(ImTextureID_Invalid);
        texture->SetStatus(ImTextureStatus_Destroyed);
      }
    }
  }
  void Wait(double seconds) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds < 0 ? 1 : seconds),
                      [this] { return woken_; });
    woken_ = false;
  }
  void Wake() override {
    std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  bool closed() const override { return false; }
  float scale() const override { return scale_; }
  void Resize(int width, int height) override {
    width_ = width;
    height_ = height;
  }

 private:
  int width_, height_;
  float scale_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

}  // namespace

Result<std::unique_ptr<Surface>> Surface::Make(const SurfaceOptions& options) {
  if (options.kind == SurfaceKind::kHeadless) return std::make_unique<HeadlessSurface>(options);
  auto surface = std::make_unique<GlfwSurface>();
  HLOSCOPE_TRY(surface->Start(options));
  return surface;
}

}  // namespace hloscope::viewer
