// JAX is profiled from its first trace on, when its devices are chosen and configured; TensorFlow
// and PyTorch/XLA from the end of their import on. All end with the program.
#include "core/debug/record/profile_hook.h"

#include <filesystem>

#include "core/base/file.h"

namespace hloscope::debug {
namespace {

constexpr const char* kHook =
    R"(# Written by `hloscope record --profile`: profiles the program that loads it.
import atexit, importlib.abc, importlib.util, os, sys

_here = os.path.dirname(os.path.abspath(__file__))
_to = os.environ.get('HLOSCOPE_PROFILE_TO')


def _complain(what):
    sys.stderr.write('hloscope: no profile: %r\n' % (what,))


def _jax(module):
    state = {'on': False, 'done': False}

    def begin(*_, **__):
        if state['on'] or state['done']:
            return
        state['on'] = True
        try:
            module.profiler.start_trace(_to)
        except Exception as error:
            state['on'] = False
            state['done'] = True
            _complain(error)

    def end():
        if state['on']:
            state['on'], state['done'] = False, True
            try:
                module.profiler.stop_trace()
            except Exception as error:
                _complain(error)

    module.monitoring.register_event_duration_secs_listener(begin)
    atexit.register(end)


def _at_once(start, stop):
    start(_to)

    def end():
        try:
            stop()
        except Exception as error:
            _complain(error)

    atexit.register(end)


def _tensorflow(module):
    profiler = module.profiler.experimental
    _at_once(profiler.start, profiler.stop)


def _torch(module):
    import torch_xla.debug.profiler as profiler
    _at_once(profiler.start_trace, profiler.stop_trace)


class _Finder(importlib.abc.MetaPathFinder):
    hooks = {'jax': _jax, 'tensorflow': _tensorflow, 'torch_xla': _torch}

    def find_spec(self, name, path, target=None):
        if name not in self.hooks:
            return None
        hook = self.hooks.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            try:
                hook(module)
            except Exception as error:
                _complain(error)

        spec.loader.exec_module = exec_module
        return spec


if _to:
    sys.meta_path.insert(0, _Finder())
# The sitecustomize that this one hides.
sys.path[:] = [p for p in sys.path if os.path.abspath(p or '.') != _here]
_mine = sys.modules.pop('sitecustomize', None)
try:
    import sitecustomize
except ImportError:
    pass
if _mine is not None:
    sys.modules.setdefault('sitecustomize', _mine)
)";

}  // namespace

Result<std::string> WriteProfileHook(const std::string& dump) {
  const std::string folder = dump + "/hloscope-hook";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InputError(folder + ": cannot be made: " + error.message());
  HLOSCOPE_TRY(WriteFileAtomically(folder + "/sitecustomize.py", kHook));
  return folder;
}

}  // namespace hloscope::debug
