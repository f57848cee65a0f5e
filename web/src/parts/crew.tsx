// Workers, and the draws that they have under way.
import { Ago, Name, Table } from "./small";
import type { StudyView, Tickets } from "../types";
import { count, counted } from "../words";

const MOST = 100;

export function Crew({ view, tickets, now }: { view: StudyView; tickets: Tickets; now: number }) {
  const workers = [...view.workers].sort((a, b) => Number(b.alive) - Number(a.alive) || b.last_seen - a.last_seen);
  const said = (["done", "leased", "open", "failed"] as const).map((kind) => `${count(tickets[kind])} ${kind}`).join(", ");
  return (
    <>
      <h2>Workers</h2>
      <p class="soft">Draws of the latest round: {said}.</p>
      {workers.length === 0 ? <p>Nobody has drawn for this study yet. <code>kabc worker</code> does.</p> : (
        <Table label="Workers" heads={["Worker", "Host", "Seen", "Draws under way", "Arms it can draw"]} numeric={[3, 4]}>
          {workers.slice(0, MOST).map((one) => (
            <tr key={one.name}>
              <th scope="row"><Name text={one.name} /></th>
              <td><Name text={one.host} /></td>
              <td><span class={one.alive ? "state running" : "state gone"}>{one.alive ? "here" : "gone"}</span> <Ago at={one.last_seen} now={now} /></td>
              <td class="n">{count(one.n_leases)}</td>
              <td class="n">{count(one.n_arms)}</td>
            </tr>
          ))}
        </Table>
      )}
      {view.leases.length > 0 && (
        <details>
          <summary>{counted(view.leases.length, "lease")}</summary>
          <Table label="Leases" heads={["Arm", "Samples", "Worker", "Lease"]} numeric={[1]}>
            {view.leases.map((one) => (
              <tr key={one.ticket}>
                <th scope="row"><Name text={one.arm} /></th>
                <td class="n">{count(one.count)}</td>
                <td><Name text={one.worker} /></td>
                <td>{lease(one.expires - now)}{one.deaths > 0 ? `; ${counted(one.deaths, "worker")} died with it` : ""}</td>
              </tr>
            ))}
          </Table>
        </details>
      )}
    </>
  );
}

function lease(left: number): string {
  return left < 0 ? "lapsed: others may draw it" : `for ${Math.ceil(left)} s, unless renewed`;
}
