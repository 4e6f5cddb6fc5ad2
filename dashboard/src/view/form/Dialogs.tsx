import { dialog } from "../../state/dialog";
import { AddForm } from "./AddForm";
import { AdminForm } from "./AdminForm";
import { Keys } from "./Keys";
import { RemoveForm } from "./RemoveForm";
import { StrategyForm } from "./StrategyForm";
import { WeightForm } from "./WeightForm";

/** The one form that is open, if any. */
export function Dialogs() {
  const now = dialog.value;
  switch (now?.kind) {
    case "add":
      return <AddForm />;
    case "keys":
      return <Keys />;
    case "strategy":
      return <StrategyForm />;
    case "admin":
      return <AdminForm endpoint={now.endpoint} admin={now.admin} />;
    case "weight":
      return <WeightForm endpoint={now.endpoint} />;
    case "remove":
      return <RemoveForm endpoint={now.endpoint} />;
    default:
      return null;
  }
}
