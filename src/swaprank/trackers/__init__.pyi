from .mlflow_tracker import MLflow as MLflow
from .optuna_pruning import OptunaPruning as OptunaPruning
from .tensorboard_tracker import TensorBoard as TensorBoard
from .tracker import Tracker as Tracker
from .wandb_tracker import WandB as WandB
