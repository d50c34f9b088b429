// XLA numbers its modules in each process from 0, so the second process that imports a framework,
// and each one forked after, writes into process-2, process-3, … JAX is profiled from its first
// trace on, when its devices are chosen and configured; TensorFlow and PyTorch/XLA from the end of
// their import on. All end with the program.
#include "core/debug/record/python_hook.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/base/file.h"
#include "core/base/strings.h"
#include "core/debug/record/inputs_hook.h"
#include "core/debug/record/keras_hook.h"

namespace hloscope::debug {
namespace {

constexpr const char* kHook =
    R"(# Written by `hloscope record`: gives each process its folder, saves inputs and profiles the program.
import atexit, importlib.abc, importlib.util, os, re, sys

_here = os.path.dirname(os.path.abspath(__file__))
_to = os.environ.get('HLOSCOPE_PROFILE_TO')


def _complain(what, error):
    sys.stderr.write('hloscope: %s: %s: %s\n' % (what, type(error).__name__, error))


_root = os.environ.get('HLOSCOPE_DUMP_TO')
_claimed = False


def _quoted(path):
    return '"%s"' % path.replace('\\', '\\\\').replace('"', '\\"')


def _write_into(folder):
    before = os.environ.get('HLOSCOPE_DUMP_FOLDER', _root)
    flags = os.environ.get('XLA_FLAGS', '')
    for form in (str, _quoted):
        flag = re.escape('--xla_dump_to=' + form(before)) + r'(?=\s|$)'
        flags = re.sub(flag, lambda _: '--xla_dump_to=' + form(folder), flags)
    if 'XLA_FLAGS' in os.environ:
        os.environ['XLA_FLAGS'] = flags
    if os.environ.get('TF_DUMP_GRAPH_PREFIX') == before:
        os.environ['TF_DUMP_GRAPH_PREFIX'] = folder
    os.environ['HLOSCOPE_DUMP_FOLDER'] = folder


def _claim():
    try:
        try:
            os.mkdir(os.path.join(_here, 'first'))
            return _write_into(_root)
        except FileExistsError:
            pass
        for k in range(2, 100000):
            folder = os.path.join(_root, 'process-%d' % k)
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                continue
            return _write_into(folder)
    except Exception as error:
        try:
            with open(os.path.join(_here, 'failures'), 'a') as file:
                file.write('process %d: %r\n' % (os.getpid(), error))
        except Exception:
            pass


def _claim_once():
    global _claimed
    if _claimed or not _root:
        return
    _claimed = True
    _claim()
    if hasattr(os, 'register_at_fork'):
        os.register_at_fork(after_in_child=_claim)


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
            _complain('no profile, it could not be started', error)

    def end():
        if state['on']:
            state['on'], state['done'] = False, True
            try:
                module.profiler.stop_trace()
            except Exception as error:
                _complain('the profile could not be written', error)

    module.monitoring.register_event_duration_secs_listener(begin)
    atexit.register(end)


def _at_once(start, stop):
    start(_to)

    def end():
        try:
            stop()
        except Exception as error:
            _complain('the profile could not be written', error)

    atexit.register(end)


def _tensorflow(module):
    profiler = module.profiler.experimental
    _at_once(profiler.start, profiler.stop)


def _torch(module):
    import torch_xla.debug.profiler as profiler
    _at_once(profiler.start_trace, profiler.stop_trace)


# The versions of XLA that the framework names, of the first process that imports it.
def _versions(module):
    found = {}

    def add(name, holder, *path):
        try:
            value = importlib.import_module(holder)
            for part in path:
                value = getattr(value, part)
            text = str(value or '')
            if len(text) == 40 and all(c in '0123456789abcdef' for c in text):
                text = text[:12]  # a commit; in full it looks like a key
            if text:
                found[name] = text[:100]
        except Exception:
            pass

    if module.__name__ == 'jax':
        add('jaxlib_commit', 'jaxlib.version', '_git_hash')
        add('xla_client', 'jaxlib.xla_client', '_version')
    elif module.__name__ == 'tensorflow':
        add('tensorflow_commit', 'tensorflow', 'version', 'GIT_VERSION')
        add('compiler', 'tensorflow', 'version', 'COMPILER_VERSION')
    else:
        add('xla_commit', 'torch_xla.version', '__xla_gitrev__')
        add('torch_xla_commit', 'torch_xla.version', '__torch_xla_gitrev__')
    with open(os.path.join(_here, 'versions'), 'x') as file:
        file.writelines('%s %s\n' % (name, ' '.join(value.split())) for name, value in found.items())


def _tell_versions(module):
    try:
        _versions(module)
    except OSError:
        pass  # another process did, or the recording is over


# Operations that PyTorch/XLA ran on the host, and how often: it counts them by itself and logs none.
def _fallbacks(module):
    def write():
        core = module._XLAC
        try:
            with open(os.path.join(_here, 'fallbacks'), 'a') as file:
                # Reading a value by item() is counted with them.
                for name in sorted(set(core._get_executed_fallback_ops()) - {'aten::_local_scalar_dense'}):
                    file.write('%s %d\n' % (name, core._xla_counter_value(name) or 1))
        except OSError:
            pass  # the recording is over

    atexit.register(write)


# What to do once a framework is imported, and what is lost where that fails.
_hooks = {name: [(_tell_versions, 'no versions')] for name in ('jax', 'tensorflow', 'torch_xla')}
_hooks['torch_xla'].append((_fallbacks, 'no operations on the host are named'))
import hloscope_keras
_hooks['keras'] = [(lambda module: hloscope_keras.keras(module, os.path.join(_here, 'keras')), 'no models of Keras are named')]
if os.environ.get('HLOSCOPE_INPUTS_TO'):
    import hloscope_inputs
    for _name in ('jax', 'tensorflow', 'torch_xla'):
        _hooks[_name].append((getattr(hloscope_inputs, _name), 'no inputs are saved'))
if _to:
    for _name, _hook in (('jax', _jax), ('tensorflow', _tensorflow), ('torch_xla', _torch)):
        _hooks[_name].append((_hook, 'no profile, it could not be started'))


class _Finder(importlib.abc.MetaPathFinder):
    frameworks = ('jax', 'jaxlib', 'tensorflow', 'torch_xla')

    def find_spec(self, name, path, target=None):
        if name in self.frameworks:
            _claim_once()
        hooks = _hooks.pop(name, None)
        if not hooks:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            for hook, lost in hooks:
                try:
                    hook(module)
                except Exception as error:
                    _complain(lost, error)

        spec.loader.exec_module = exec_module
        return spec


if _to or _root:
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

constexpr size_t kMaxFileBytes = 1 << 20;  // bytes of a file that are read
constexpr size_t kMaxModels = 50;

// The whole lines at the start of a file: a last one that has no end was cut off.
std::vector<std::string_view> LinesOf(const FileView& file) {
  const std::string_view text = file.bytes().substr(0, kMaxFileBytes);
  std::vector<std::string_view> lines = StrSplit(text, '\n');
  lines.pop_back();
  return lines;
}

// Several processes, or several steps, name a model.
void TakeKerasSteps(const FileView& file, HookReport& report) {
  std::set<std::string_view> seen;
  for (const std::string_view line : LinesOf(file)) {
    const std::vector<std::string_view> parts = StrSplit(line, '\t');
    if (parts.size() != 3 || !seen.insert(line).second) continue;
    if (report.keras_steps.size() == kMaxModels) {
      ++report.more_keras_steps;
      continue;
    }
    report.keras_steps.push_back(
        {std::string(parts[0]), std::string(parts[1]), std::string(parts[2])});
  }
}

}  // namespace

Result<std::string> WritePythonHook(const std::string& dump) {
  const std::string folder = dump + "/hloscope-hook";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InputError(folder + ": cannot be made: " + error.message());
  HLOSCOPE_TRY(WriteFileAtomically(folder + "/sitecustomize.py", kHook));
  HLOSCOPE_TRY(WriteFileAtomically(folder + "/hloscope_inputs.py", InputsHook()));
  HLOSCOPE_TRY(WriteFileAtomically(folder + "/hloscope_keras.py", KerasHook()));
  return folder;
}

HookReport RemovePythonHook(const std::string& dump, const std::string& hook) {
  HookReport report;
  if (const auto file = FileView::Open(hook + "/failures", {}))
    report.failures = file->bytes().substr(0, 4096);
  if (const auto file = FileView::Open(hook + "/versions", {})) {
    for (const std::string_view line : LinesOf(*file)) {
      const size_t blank = std::min(line.find(' '), line.size());
      if (blank + 1 < line.size())
        report.xla.emplace(line.substr(0, blank), line.substr(blank + 1));
    }
  }
  if (const auto file = FileView::Open(hook + "/fallbacks", {})) {
    for (const std::string_view line : LinesOf(*file)) {
      const size_t blank = line.find(' ');
      if (blank == std::string_view::npos) continue;
      uint32_t count = 0;  // stays 0 where it is no number of this size
      std::from_chars(line.data() + blank + 1, line.data() + line.size(), count);
      report.fallbacks[std::string(line.substr(0, blank))] += count;
    }
  }
  if (const auto file = FileView::Open(hook + "/keras", {})) TakeKerasSteps(*file, report);
  std::error_code ignored;
  std::filesystem::remove_all(hook, ignored);
  std::vector<std::filesystem::path> folders;
  for (std::filesystem::directory_iterator it(dump, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with("process-")) folders.push_back(it->path());
  }
  for (const std::filesystem::path& folder : folders) {
    if (std::filesystem::is_directory(folder, ignored) &&
        std::filesystem::is_empty(folder, ignored))
      std::filesystem::remove(folder, ignored);
  }
  return report;
}

}  // namespace hloscope::debug
