# Written by .ci/stub from the table in __init__.py; change that and run it again.

from pio._align import contract as contract
from pio._architecture import Architecture as Architecture
from pio._architecture import Inputs as Inputs
from pio._architecture import Network as Network
from pio._batch import Batch as Batch
from pio._certificate import Certificate as Certificate
from pio._certificate import certify as certify
from pio._certificate import relative_errors as relative_errors
from pio._chebyshev import chebyshev as chebyshev
from pio._compare import Comparison as Comparison
from pio._compare import compare as compare
from pio._compose import check as check
from pio._compose import compose as compose
from pio._config import Config as Config
from pio._config import resolve as resolve
from pio._domain import Coordinate as Coordinate
from pio._domain import Domain as Domain
from pio._embedding import Embedding as Embedding
from pio._equation import Condition as Condition
from pio._equation import Equation as Equation
from pio._equation import Law as Law
from pio._equation import Reference as Reference
from pio._errors import PioError as PioError
from pio._errors import RunError as RunError
from pio._etdrk4 import etdrk4 as etdrk4
from pio._evaluate import Evaluation as Evaluation
from pio._evaluate import Light as Light
from pio._evaluate import evaluate as evaluate
from pio._evaluate import light as light
from pio._evaluate import predict as predict
from pio._evaluate import prediction_errors as prediction_errors
from pio._features import Feature as Feature
from pio._gaussian import GaussianField as GaussianField
from pio._hooks import Spec as Spec
from pio._hooks import hookimpl as hookimpl
from pio._kernels import kernel as kernel
from pio._kernels import with_kernel as with_kernel
from pio._labels import Labels as Labels
from pio._labels import labels as labels
from pio._labels import read_labels as read_labels
from pio._latents import Affine as Affine
from pio._latents import Latents as Latents
from pio._layers import Join as Join
from pio._layers import glorot as glorot
from pio._lifted import Lifted as Lifted
from pio._loss import Loss as Loss
from pio._loss import Term as Term
from pio._measured import measured as measured
from pio._model import Model as Model
from pio._optimizer import Optimizer as Optimizer
from pio._optimizer import Schedule as Schedule
from pio._optimizer import clipped as clipped
from pio._options import option as option
from pio._periodic import PeriodicField as PeriodicField
from pio._periodic import power_law as power_law
from pio._plan import Plan as Plan
from pio._plan import plan as plan
from pio._published import Published as Published
from pio._recipe import Blocks as Blocks
from pio._recipe import Choice as Choice
from pio._recipe import Recipe as Recipe
from pio._recipe import Tables as Tables
from pio._registry import Registry as Registry
from pio._registry import discover as discover
from pio._report import Report as Report
from pio._report import report as report
from pio._reproduce import Reproduction as Reproduction
from pio._reproduce import conclude as conclude
from pio._reproduce import reproduce as reproduce
from pio._resample import resample as resample
from pio._run import Run as Run
from pio._run import load_run as load_run
from pio._sampling import Sampler as Sampler
from pio._session import follow as follow
from pio._session import resume as resume
from pio._session import train as train
from pio._solutions import Solutions as Solutions
from pio._solutions import solutions as solutions
from pio._solve import solve as solve
from pio._space import FunctionSpace as FunctionSpace
from pio._space import draw as draw
from pio._space import read as read
from pio._statistics import Statistics as Statistics
from pio._statistics import statistics as statistics
from pio._study import Study as Study
from pio._study import studies as studies
from pio._tracker import Tracker as Tracker
from pio._tracker import by_path as by_path
from pio._tracker import extra as extra
from pio._tracker import scalars as scalars
from pio._train import Record as Record
from pio._train import Trainer as Trainer
from pio._train import TrainState as TrainState
from pio._variant import Variant as Variant
from pio._verdict import Verdict as Verdict
from pio._weighting import Residuals as Residuals
from pio._weighting import Weighting as Weighting
from pio._write_up import write_up as write_up

__all__ = [
    "Affine",
    "Architecture",
    "Batch",
    "Blocks",
    "Certificate",
    "Choice",
    "Comparison",
    "Condition",
    "Config",
    "Coordinate",
    "Domain",
    "Embedding",
    "Equation",
    "Evaluation",
    "Feature",
    "FunctionSpace",
    "GaussianField",
    "Inputs",
    "Join",
    "Labels",
    "Latents",
    "Law",
    "Lifted",
    "Light",
    "Loss",
    "Model",
    "Network",
    "Optimizer",
    "PeriodicField",
    "PioError",
    "Plan",
    "Published",
    "Recipe",
    "Record",
    "Reference",
    "Registry",
    "Report",
    "Reproduction",
    "Residuals",
    "Run",
    "RunError",
    "Sampler",
    "Schedule",
    "Solutions",
    "Spec",
    "Statistics",
    "Study",
    "Tables",
    "Term",
    "Tracker",
    "TrainState",
    "Trainer",
    "Variant",
    "Verdict",
    "Weighting",
    "by_path",
    "certify",
    "chebyshev",
    "check",
    "clipped",
    "compare",
    "compose",
    "conclude",
    "contract",
    "discover",
    "draw",
    "etdrk4",
    "evaluate",
    "extra",
    "follow",
    "glorot",
    "hookimpl",
    "kernel",
    "labels",
    "light",
    "load_run",
    "measured",
    "option",
    "plan",
    "power_law",
    "predict",
    "prediction_errors",
    "read",
    "read_labels",
    "relative_errors",
    "report",
    "reproduce",
    "resample",
    "resolve",
    "resume",
    "scalars",
    "solutions",
    "solve",
    "statistics",
    "studies",
    "train",
    "with_kernel",
    "write_up",
]
